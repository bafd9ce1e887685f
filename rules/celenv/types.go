package celenv

import (
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
)

// overloads lists the ways to call each function.
func overloads(functions map[string]*decls.FunctionDecl) map[string][]*decls.OverloadDecl {
	out := make(map[string][]*decls.OverloadDecl, len(functions))
	for name, fn := range functions {
		if !fn.IsDeclarationDisabled() {
			out[name] = fn.OverloadDecls()
		}
	}
	return out
}

// Result is the type of what a call gives for operands of these types, the one
// that it is called on first. wrong is -1 where there is such a function, else
// the operand that no way to call it takes, or len(operands) where it is their
// number that does not fit. It differs from CEL's own checker in what it knows of
// objects: one with a schema is a map as well, as it is when the rule runs.
func (e *Env) Result(function string, method bool, operands []*types.Type) (result *types.Type, wrong int) {
	wrong = -1
	for _, o := range e.overloads[function] {
		if o.IsMemberFunction() != method || len(o.ArgTypes()) != len(operands) {
			continue
		}
		bound := binding{}
		at := bound.takes(o.ArgTypes(), operands)
		if at < len(operands) {
			if result == nil {
				wrong = max(wrong, at)
			}
			continue
		}
		given := bound.replace(o.ResultType())
		if result == nil {
			result = given
			continue
		}
		result = Join(result, given)
	}
	switch {
	case result != nil:
		return result, -1
	case wrong < 0:
		wrong = len(operands)
	}
	return types.DynType, wrong
}

// NoType is the type of what there is none of, such as the items of []. It goes
// with every other.
func NoType() *types.Type { return types.NewTypeParamType("@none") }

// binding are the types that the parameters of a signature stand for.
type binding map[string]*types.Type

// takes says how many of the operands a signature takes.
func (b binding) takes(wanted, given []*types.Type) int {
	for i, w := range wanted {
		if !b.take(w, given[i]) {
			return i
		}
	}
	return len(given)
}

func (b binding) take(wanted, given *types.Type) bool {
	if wanted.Kind() == types.TypeParamKind {
		name := wanted.TypeName()
		old, ok := b[name]
		if !ok {
			b[name] = given
			return true
		}
		if !Meet(old, given) {
			return false
		}
		b[name] = Join(old, given)
		return true
	}
	if isLoose(wanted) || isLoose(given) {
		return true
	}
	if wanted.Kind() == types.MapKind && given.Kind() == types.StructKind {
		return b.take(wanted.Parameters()[0], types.StringType) && b.take(wanted.Parameters()[1], types.DynType)
	}
	if !sameKind(wanted, given) || len(wanted.Parameters()) != len(given.Parameters()) {
		return false
	}
	for i, p := range wanted.Parameters() {
		if !b.take(p, given.Parameters()[i]) {
			return false
		}
	}
	return true
}

// replace puts the types in that parameters stand for.
func (b binding) replace(t *types.Type) *types.Type {
	switch t.Kind() {
	case types.TypeParamKind:
		if bound, ok := b[t.TypeName()]; ok {
			return bound
		}
		return types.DynType
	case types.ListKind:
		return types.NewListType(b.replace(t.Parameters()[0]))
	case types.MapKind:
		return types.NewMapType(b.replace(t.Parameters()[0]), b.replace(t.Parameters()[1]))
	case types.OpaqueKind:
		if len(t.Parameters()) == 1 {
			return types.NewOpaqueType(t.TypeName(), b.replace(t.Parameters()[0]))
		}
	default:
	}
	return t
}

// isLoose reports whether nothing is known of a value of that type.
func isLoose(t *types.Type) bool {
	switch t.Kind() {
	case types.DynKind, types.AnyKind, types.ErrorKind, types.TypeParamKind:
		return true
	default:
		return false
	}
}

func sameKind(a, b *types.Type) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	if a.Kind() == types.OpaqueKind || a.Kind() == types.StructKind {
		return a.TypeName() == b.TypeName()
	}
	return true
}

// Meet reports whether a value of the one type can equal one of the other.
func Meet(a, b *types.Type) bool {
	switch {
	case isLoose(a) || isLoose(b) || a.Kind() == types.NullTypeKind || b.Kind() == types.NullTypeKind:
		return true
	case isNumber(a) && isNumber(b):
		return true
	case isMap(a) && isMap(b):
		if a.Kind() == types.StructKind || b.Kind() == types.StructKind {
			return true
		}
	case !sameKind(a, b):
		return false
	}
	for i, p := range a.Parameters() {
		if i < len(b.Parameters()) && !Meet(p, b.Parameters()[i]) {
			return false
		}
	}
	return true
}

// Join is the type of a value that is of either type.
func Join(a, b *types.Type) *types.Type {
	switch {
	case a == b || a.IsExactType(b):
		return a
	case a.Kind() == types.TypeParamKind || a.Kind() == types.NullTypeKind:
		return b
	case b.Kind() == types.TypeParamKind || b.Kind() == types.NullTypeKind:
		return a
	case isLoose(a) || isLoose(b):
		return types.DynType
	case a.Kind() == types.ListKind && b.Kind() == types.ListKind:
		return types.NewListType(Join(a.Parameters()[0], b.Parameters()[0]))
	case a.Kind() == types.MapKind && b.Kind() == types.MapKind:
		return types.NewMapType(Join(a.Parameters()[0], b.Parameters()[0]), Join(a.Parameters()[1], b.Parameters()[1]))
	case isMap(a) && isMap(b):
		return types.NewMapType(types.StringType, types.DynType)
	case IsOptional(a) && IsOptional(b):
		return types.NewOptionalType(Join(a.Parameters()[0], b.Parameters()[0]))
	}
	return types.DynType
}

func isNumber(t *types.Type) bool {
	return t.Kind() == types.IntKind || t.Kind() == types.UintKind || t.Kind() == types.DoubleKind
}

func isMap(t *types.Type) bool { return t.Kind() == types.MapKind || t.Kind() == types.StructKind }

// IsOptional reports whether a type is that of optional values.
func IsOptional(t *types.Type) bool {
	return t.Kind() == types.OpaqueKind && t.TypeName() == types.OptionalType.TypeName()
}
