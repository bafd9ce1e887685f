package check

import (
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/celenv"
)

// relation compares types. The zero value decides whether two values can be equal: null equals anything, and numbers
// of different types can be equal. With bound it decides whether a function takes a value: bound has the types that the
// type parameters of the function stand for.
//
// Unlike CEL's own checker, it takes an object with a schema for a map too, because it is one when the rule runs.
type relation struct{ bound map[string]*types.Type }

func (r relation) holds(wanted, given *types.Type) bool {
	calls := r.bound != nil
	if calls && wanted.Kind() == types.TypeParamKind {
		old, ok := r.bound[wanted.TypeName()]
		switch {
		case ok && !Meet(old, given):
			return false
		case ok:
			given = Join(old, given)
		}
		r.bound[wanted.TypeName()] = given
		return true
	}
	switch {
	case isLoose(wanted) || isLoose(given):
		return true
	case !calls && (wanted.Kind() == types.NullTypeKind || given.Kind() == types.NullTypeKind || isNumber(wanted) && isNumber(given)):
		return true
	case isMap(wanted) && isMap(given) && wanted.TypeName() != given.TypeName():
		wanted, given = asMap(wanted), asMap(given)
	case wanted.Kind() != given.Kind() || wanted.Kind() == types.OpaqueKind && wanted.TypeName() != given.TypeName():
		return false
	}
	for i, p := range wanted.Parameters() {
		if i < len(given.Parameters()) && !r.holds(p, given.Parameters()[i]) {
			return false
		}
	}
	return true
}

func (r relation) replace(t *types.Type) *types.Type {
	switch t.Kind() {
	case types.TypeParamKind:
		if bound, ok := r.bound[t.TypeName()]; ok {
			return bound
		}
		return types.DynType
	case types.ListKind:
		return types.NewListType(r.replace(t.Parameters()[0]))
	case types.MapKind:
		return types.NewMapType(r.replace(t.Parameters()[0]), r.replace(t.Parameters()[1]))
	case types.OpaqueKind:
		if len(t.Parameters()) == 1 {
			return types.NewOpaqueType(t.TypeName(), r.replace(t.Parameters()[0]))
		}
	default:
	}
	return t
}

// Meet reports whether a value of type a can equal one of type b.
func Meet(a, b *types.Type) bool { return relation{}.holds(a, b) }

// Join returns the type of a value that has either type.
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
	case isMap(a) && isMap(b):
		a, b = asMap(a), asMap(b)
		return types.NewMapType(Join(a.Parameters()[0], b.Parameters()[0]), Join(a.Parameters()[1], b.Parameters()[1]))
	case IsOptional(a) && IsOptional(b):
		return types.NewOptionalType(Join(a.Parameters()[0], b.Parameters()[0]))
	}
	return types.DynType
}

// call returns the type of a call's result. The operands are types, with the receiver of a method first. wrong is -1 if
// an overload takes them; else the index of the operand that no overload takes, or len(operands) if no overload takes
// that many.
func call(env *celenv.Env, function string, method bool, operands []*types.Type) (result *types.Type, wrong int) {
	wrong = -1
	for _, o := range env.Overloads(function) {
		if o.IsMemberFunction() != method || len(o.ArgTypes()) != len(operands) {
			continue
		}
		taken, r := 0, relation{bound: map[string]*types.Type{}}
		for taken < len(operands) && r.holds(o.ArgTypes()[taken], operands[taken]) {
			taken++
		}
		switch given := r.replace(o.ResultType()); {
		case taken < len(operands):
			wrong = max(wrong, taken)
		case result == nil:
			result = given
		default:
			result = Join(result, given)
		}
	}
	switch {
	case result != nil:
		return result, -1
	case wrong < 0:
		wrong = len(operands)
	}
	return types.DynType, wrong
}

// NoType is the type of values that do not exist, such as the items of []. It is compatible with every other type.
func NoType() *types.Type { return types.NewTypeParamType("@none") }

// isLoose reports whether a type says nothing about its values.
func isLoose(t *types.Type) bool {
	switch t.Kind() {
	case types.DynKind, types.AnyKind, types.ErrorKind, types.TypeParamKind:
		return true
	default:
		return false
	}
}

func isNumber(t *types.Type) bool {
	return t.Kind() == types.IntKind || t.Kind() == types.UintKind || t.Kind() == types.DoubleKind
}

func isMap(t *types.Type) bool { return t.Kind() == types.MapKind || t.Kind() == types.StructKind }

// asMap returns the map type that an object has when the rule runs, and every other type unchanged.
func asMap(t *types.Type) *types.Type {
	if t.Kind() == types.StructKind {
		return types.NewMapType(types.StringType, types.DynType)
	}
	return t
}
