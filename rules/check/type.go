package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
)

// Type is what is known of a value before the rule runs. The zero value knows nothing.
type Type struct {
	// cel is the type in CEL, nil if nothing is known. An object with fields has a type for its schema (types.StructKind);
	// Table.objects has the schema.
	cel *types.Type
	// schema is the schema of the field that the value was read from, or of the value itself. It is nil for scalars that
	// CEL computed.
	schema *openapi.Schema
	// group is a name whose members have types of their own, such as children.
	group string
}

// Of returns the type of a value that CEL computed. It knows no fields of objects.
func Of(cel *types.Type) Type { return Type{cel: cel} }

// Group returns the type of a name whose members have types of their own.
func Group(name string) Type { return Type{group: name} }

// CEL returns the type in CEL; dyn if nothing is known.
func (t Type) CEL() *types.Type {
	if t.cel == nil {
		return types.DynType
	}
	return t.cel
}

// Kind returns the kind of the type in CEL; see kindOf.
func (t Type) Kind() types.Kind { return kindOf(t.CEL()) }

// kindOf returns the kind of a type in CEL. Values of Kubernetes' functions, such as quantity(…), count as opaque.
func kindOf(t *types.Type) types.Kind {
	if t.Kind() == types.StructKind && celenv.IsKubernetes(t) {
		return types.OpaqueKind
	}
	return t.Kind()
}

// IsKnown reports whether something is known of the value.
func (t Type) IsKnown() bool { return t.Kind() != types.DynKind }

// Inner returns the type of an optional's value, and every other type unchanged.
func (t Type) Inner() Type {
	t.cel = inner(t.CEL())
	return t
}

// CanBe reports whether the value, or an optional's value, can be of one of the kinds.
func (t Type) CanBe(kinds ...types.Kind) bool {
	kind := t.Inner().Kind()
	return kind == types.DynKind || slices.Contains(kinds, kind)
}

// IsText reports whether objects store the value as text that is not base64. Times and durations are text too.
func (t Type) IsText() bool {
	return t.schema != nil && t.IsKnown() && t.CanBe(types.StringKind, types.TimestampKind, types.DurationKind)
}

// IsOf reports whether the schema of the value is s.
func (t Type) IsOf(s *openapi.Schema) bool { return t.schema == s }

// Field returns the type of a field of an object, by its schema.
func (t Type) Field(table *Table, name string) Type {
	if t.Kind() != types.StructKind || t.schema.Fields[name] == nil {
		return Type{}
	}
	return table.Of(t.schema.Fields[name].Schema)
}

// Table maps schemas to the types that values have in expressions. It does so one field at a time, so that of a kind
// with a thousand fields it has only those that the rule reads. A table is for one compilation.
type Table struct {
	types map[*openapi.Schema]*types.Type
	// objects has the schemas of objects by the names of their types.
	objects map[string]*openapi.Schema
	// bytes caches hasBytes.
	bytes map[*openapi.Schema]bool
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{types: map[*openapi.Schema]*types.Type{}, objects: map[string]*openapi.Schema{}, bytes: map[*openapi.Schema]bool{}}
}

// hasBytes reports whether a value of the schema can contain bytes.
func (t *Table) hasBytes(s *openapi.Schema) bool {
	known, asked := t.bytes[s]
	if !asked {
		known = holdsBytes(s, map[*openapi.Schema]bool{})
		t.bytes[s] = known
	}
	return known
}

// holdsBytes is hasBytes without the cache. seen ends the recursion, because a schema may contain itself.
func holdsBytes(s *openapi.Schema, seen map[*openapi.Schema]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	if s.IsBytes() || holdsBytes(s.Items, seen) {
		return true
	}
	for _, field := range s.Fields {
		if holdsBytes(field.Schema, seen) {
			return true
		}
	}
	return false
}

// Of returns the type of values of the schema.
func (t *Table) Of(s *openapi.Schema) Type {
	if s == nil {
		return Type{}
	}
	return Type{cel: t.celType(s), schema: s}
}

func (t *Table) fromCEL(typ *types.Type) Type {
	return Type{cel: typ, schema: t.objects[typ.TypeName()]}
}

// celType maps schemas to types of CEL as Kubernetes does in its own expressions: a date-time is a timestamp, text of
// the format duration is a duration, base64 is bytes, and an int-or-string is dynamic.
func (t *Table) celType(s *openapi.Schema) *types.Type {
	if s == nil {
		return types.DynType
	}
	if typ, ok := t.types[s]; ok {
		return typ
	}
	t.types[s] = types.DynType // ends the recursion of a list or a map that contains itself
	typ := t.newType(s)
	t.types[s] = typ
	return typ
}

func (t *Table) newType(s *openapi.Schema) *types.Type {
	switch s.Type {
	case openapi.Object:
		if len(s.Fields) == 0 {
			return types.NewMapType(types.StringType, types.DynType)
		}
		name := s.Name
		if old := t.objects[name]; name == "" || old != nil && old != s {
			name = fmt.Sprintf("%s#%d", name, len(t.objects))
		}
		t.objects[name] = s
		return types.NewObjectType(name)
	case openapi.Map:
		return types.NewMapType(types.StringType, t.celType(s.Items))
	case openapi.List:
		return types.NewListType(t.celType(s.Items))
	case openapi.String:
		switch s.Format {
		case openapi.FormatTime, openapi.FormatDate:
			return types.TimestampType
		case openapi.FormatDuration:
			return types.DurationType
		case openapi.FormatByte:
			return types.BytesType
		}
		return types.StringType
	case openapi.Integer:
		return types.IntType
	case openapi.Number:
		return types.DoubleType
	case openapi.Boolean:
		return types.BoolType
	}
	return types.DynType
}

// schemaOf returns the schema of the values of a type. If there is none, it makes an empty one for the type in CEL.
func (t *Table) schemaOf(v Type) *openapi.Schema {
	s := t.Schema(v)
	if s == nil {
		s = &openapi.Schema{}
		t.types[s] = inner(v.CEL())
	}
	return s
}

// Element returns the type of a list's items or of a map's values.
func (t *Table) Element(v Type) Type {
	if s := v.schema; s != nil && (s.Type == openapi.List || s.Type == openapi.Map) {
		return t.Of(s.Items)
	}
	if params := v.CEL().Parameters(); v.Kind() == types.ListKind || v.Kind() == types.MapKind {
		return t.fromCEL(params[len(params)-1])
	}
	return Type{}
}

// List returns the type of a list of such values.
func (t *Table) List(v Type) Type {
	if !v.IsKnown() {
		return Of(types.NewListType(types.DynType))
	}
	return Type{cel: types.NewListType(v.cel), schema: &openapi.Schema{Type: openapi.List, Items: t.schemaOf(v)}}
}

// Record returns the type of a mapping with exactly these fields.
func (t *Table) Record(fields map[string]Type) Type {
	s := &openapi.Schema{Type: openapi.Object, Fields: make(map[string]*openapi.Field, len(fields))}
	for name, v := range fields {
		s.Fields[name] = &openapi.Field{Schema: t.schemaOf(v), Required: !IsOptional(v.CEL())}
	}
	return t.Of(s)
}

// Item returns the type of the items of a forEach over the value: the items of a list, {key, value} for a map.
func (t *Table) Item(v Type) Type {
	if typ := v.CEL(); IsOptional(typ) {
		v = t.fromCEL(inner(typ))
	}
	switch v.Kind() {
	case types.ListKind:
		return t.Element(v)
	case types.MapKind, types.StructKind:
		return t.Record(map[string]Type{"key": Of(types.StringType), "value": t.Element(v)})
	default:
		return Type{}
	}
}

// ScalarType returns the type of a scalar that YAML or JSON has.
func ScalarType(scalar any) Type {
	typ, _ := celenv.FromJSON(scalar).Type().(*types.Type)
	return Of(typ)
}

// FieldNames returns the names of an object's fields, sorted.
func FieldNames(s *openapi.Schema) []string { return slices.Sorted(maps.Keys(s.Fields)) }

// inner returns the type of an optional's value, and every other type unchanged.
func inner(t *types.Type) *types.Type {
	if IsOptional(t) && len(t.Parameters()) == 1 {
		return t.Parameters()[0]
	}
	return t
}

// IsOptional reports whether a type is an optional's.
func IsOptional(t *types.Type) bool {
	return t.Kind() == types.OpaqueKind && t.TypeName() == types.OptionalType.TypeName()
}

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
