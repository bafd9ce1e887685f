package function

import (
	"fmt"

	"github.com/google/cel-go/cel"
)

// Table has Kanon's own functions, and the declarations of all functions of the environment. It is immutable.
type Table struct {
	own      map[string]*Function
	declared map[string]Declaration
}

// NewTable returns the table. All tables are equal.
func NewTable() *Table {
	t := &Table{own: map[string]*Function{}, declared: declarations()}
	for _, fn := range ownFunctions() {
		fn.declared = t.declared[fn.name]
		t.own[fn.name] = fn
	}
	return t
}

// Own returns one of Kanon's own functions; nil for every other name.
func (t *Table) Own(name string) *Function { return t.own[name] }

// Declared returns the declaration of a function; the zero value for an unknown name.
func (t *Table) Declared(name string) Declaration { return t.declared[name] }

// ownFunctions returns all of Kanon's own functions. optionalIf is a macro and not among them.
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

// ownLibrary returns Kanon's own functions and macros.
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
