package celenv

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
)

// Signatures lists the ways to call a function, such as "string.startsWith(string)",
// each once, in the order of their declaration. There are none for an unknown name.
func (e *Env) Signatures(name string) []string {
	fn, ok := e.base.Functions()[name]
	if !ok {
		return nil
	}
	var forms []string
	for _, o := range fn.OverloadDecls() {
		if form := signatureOf(name, o); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

func signatureOf(name string, o *decls.OverloadDecl) string {
	args := make([]string, len(o.ArgTypes()))
	for i, t := range o.ArgTypes() {
		args[i] = shortType(t)
	}
	if o.IsMemberFunction() && len(args) > 0 {
		return args[0] + "." + name + "(" + strings.Join(args[1:], ", ") + ")"
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// shortType names a type without what it is made of.
func shortType(t *types.Type) string {
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
