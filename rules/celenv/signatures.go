package celenv

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
)

// Overloads returns the overloads of a function; none for an unknown name.
func (e *Env) Overloads(name string) []*decls.OverloadDecl { return e.overloads[name] }

// Signatures returns the overloads of a function as text, such as "string.startsWith(string)", each once, in the order
// of their declaration. It returns none for an unknown name.
func (e *Env) Signatures(name string) []string {
	var forms []string
	for _, o := range e.Overloads(name) {
		if form := signatureOf(name, o); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

// maxForms is how many signatures of a function a hint shows. A longer list would help nobody.
const maxForms = 3

// Usage returns a hint how to call a function. It is empty for operators, and for functions with many signatures.
func (e *Env) Usage(name string) string {
	forms := e.Signatures(name)
	if len(forms) == 0 || len(forms) > maxForms || strings.Trim(name, "_@!?:[]-+*/%<>=&|") != name {
		return ""
	}
	return "write " + strings.Join(forms, " or ")
}

func signatureOf(name string, o *decls.OverloadDecl) string {
	args := make([]string, len(o.ArgTypes()))
	for i, t := range o.ArgTypes() {
		args[i] = ShortType(t)
	}
	if o.IsMemberFunction() && len(args) > 0 {
		return args[0] + "." + name + "(" + strings.Join(args[1:], ", ") + ")"
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// ShortType names a type without its parameters.
func ShortType(t *types.Type) string {
	switch t.Kind() {
	case types.TypeParamKind, types.DynKind, types.AnyKind:
		return "any"
	case types.ListKind:
		return "list"
	case types.MapKind:
		return "map"
	case types.TimestampKind:
		return "timestamp"
	case types.DurationKind:
		return "duration"
	default:
		name := t.TypeName()
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			name = name[i+1:] // kubernetes.URL
		}
		return strings.TrimSuffix(name, "_type")
	}
}
