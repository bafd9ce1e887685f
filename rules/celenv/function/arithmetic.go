package function

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
)

// mixedOperators returns the operators that take an int and a double.
func mixedOperators() []string {
	return []string{operators.Add, operators.Subtract, operators.Multiply, operators.Divide}
}

// mixedArithmetic declares for the checker that an int and a double can be added, subtracted, multiplied and divided,
// with a double as the result. Table.Dispatcher has the implementation: a standard operator has one implementation for
// all types, and a declaration cannot add another.
func mixedArithmetic() cel.EnvOption {
	return func(env *cel.Env) (*cel.Env, error) {
		for _, op := range mixedOperators() {
			var err error
			env, err = cel.Function(op,
				cel.Overload("kanon_"+op+"_int_double", []*cel.Type{cel.IntType, cel.DoubleType}, cel.DoubleType),
				cel.Overload("kanon_"+op+"_double_int", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType),
			)(env)
			if err != nil {
				return nil, fmt.Errorf("declare %s: %w", op, err)
			}
		}
		return env, nil
	}
}
