package function

import (
	"fmt"

	"github.com/google/cel-go/cel"
)

// Table has the functions of the environment: Kanon's own, and of each what a call takes. It is immutable.
type Table struct {
	own      map[string]*Function
	declared map[string]Declaration
}

// NewTable makes the table, which is the same each time.
func NewTable() *Table {
	t := &Table{own: map[string]*Function{}, declared: declarations()}
	for _, fn := range ownFunctions() {
		fn.declared = t.declared[fn.name]
		t.own[fn.name] = fn
	}
	return t
}

// Own is one of Kanon's own functions; nil for every other name.
func (t *Table) Own(name string) *Function { return t.own[name] }

// Declared is what a call of a function takes; the zero declaration for an unknown name.
func (t *Table) Declared(name string) Declaration { return t.declared[name] }

// ownFunctions are all of Kanon's own functions. optionalIf is a macro and is
// not among them.
func ownFunctions() []*Function {
	var all []*Function
	for _, family := range [][]*Function{
		mergeFunctions(), jsonFunctions(), yamlFunctions(), nameFunctions(), statusFunctions(), timeFunctions(), cronFunctions(),
		randomFunctions(),
	} {
		all = append(all, family...)
	}
	return all
}

// ownLibrary declares Kanon's own functions and macros.
func ownLibrary() cel.EnvOption {
	return func(env *cel.Env) (*cel.Env, error) {
		env, err := cel.Macros(optionalIfMacro())(env)
		if err != nil {
			return nil, fmt.Errorf("declare optionalIf: %w", err)
		}
		for _, fn := range ownFunctions() {
			overloads := make([]cel.FunctionOpt, len(fn.signatures))
			for i, s := range fn.signatures {
				overloads[i] = s.declare(fn)
			}
			if env, err = cel.Function(fn.name, overloads...)(env); err != nil {
				return nil, fmt.Errorf("declare %s: %w", fn.name, err)
			}
		}
		return env, nil
	}
}
