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
