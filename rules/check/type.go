package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/kinds/openapi"
)

// Type is what is known of a value before the rule runs. Of the zero value nothing is known.
type Type struct {
	// cel is the type in CEL, nil if nothing is known. An object with fields has a type of the
	// schema's own (types.StructKind), of which the Table has the schema.
	cel *types.Type
	// schema is that of the field that the value was read from, or of the value. It is nil for
	// scalars that CEL computed.
	schema *openapi.Schema
	// group is a name whose members have types of their own, such as children.
	group string
}

// Of is the type of a value that CEL computed. An object has no fields that are known.
func Of(cel *types.Type) Type { return Type{cel: cel} }

// Group is the type of a name whose members have types of their own.
func Group(name string) Type { return Type{group: name} }

// CEL is the type in CEL; dyn if nothing is known.
func (t Type) CEL() *types.Type {
	if t.cel == nil {
		return types.DynType
	}
	return t.cel
}

// Kind is the kind of the type in CEL; see kindOf.
func (t Type) Kind() types.Kind { return kindOf(t.CEL()) }

// kindOf is the kind of a type in CEL, but opaque of a value of Kubernetes' functions, such as quantity(…): their library declares that as
// an object, and it has no fields.
func kindOf(t *types.Type) types.Kind {
	if t.Kind() == types.StructKind && strings.HasPrefix(t.TypeName(), "kubernetes.") {
		return types.OpaqueKind
	}
	return t.Kind()
}

// IsKnown reports whether something is known of the value.
func (t Type) IsKnown() bool { return t.Kind() != types.DynKind }

// Inner is the type of an optional's value, and every other type as it is.
func (t Type) Inner() Type {
	t.cel = inner(t.CEL())
	return t
}

// CanBe reports whether the value, or that of an optional, can be of one of the kinds.
func (t Type) CanBe(kinds ...types.Kind) bool {
	kind := t.Inner().Kind()
	return kind == types.DynKind || slices.Contains(kinds, kind)
}

// IsText reports whether objects have the value as text that is not base64, also if expressions
// compute with a time.
func (t Type) IsText() bool {
	return t.schema != nil && t.IsKnown() && t.CanBe(types.StringKind, types.TimestampKind, types.DurationKind)
}

// IsOf reports whether the schema of the value is s.
func (t Type) IsOf(s *openapi.Schema) bool { return t.schema == s }

// Field is the type of a field of an object, as far as its schema says; see Table.Of.
func (t Type) Field(table *Table, name string) Type {
	if t.Kind() != types.StructKind || t.schema.Fields[name] == nil {
		return Type{}
	}
	return table.Of(t.schema.Fields[name].Schema)
}

// Table gives schemas the types that values have in expressions, one field at a time: of a kind
// with a thousand fields it holds what the rule reads. It is for one compilation.
type Table struct {
	types map[*openapi.Schema]*types.Type
	// objects are the schemas of objects by the names of their types.
	objects map[string]*openapi.Schema
	// bytes says which schemas have bytes in them, as far as somebody asked.
	bytes map[*openapi.Schema]bool
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{types: map[*openapi.Schema]*types.Type{}, objects: map[string]*openapi.Schema{}, bytes: map[*openapi.Schema]bool{}}
}

// hasBytes reports whether a value that fits the schema can have bytes in it.
func (t *Table) hasBytes(s *openapi.Schema) bool {
	known, asked := t.bytes[s]
	if !asked {
		known = holdsBytes(s, map[*openapi.Schema]bool{})
		t.bytes[s] = known
	}
	return known
}

// holdsBytes is hasBytes below what was seen on the way: a schema may contain itself.
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

// Of is the type of a value that fits the schema.
func (t *Table) Of(s *openapi.Schema) Type {
	if s == nil {
		return Type{}
	}
	return Type{cel: t.celType(s), schema: s}
}

// fromCEL is a value that CEL computed.
func (t *Table) fromCEL(typ *types.Type) Type {
	return Type{cel: typ, schema: t.objects[typ.TypeName()]}
}

// celType maps schemas to types of CEL as Kubernetes does in its own expressions: a date-time is
// a timestamp, a duration is one, base64 is bytes, and what may be a number or text is dynamic.
func (t *Table) celType(s *openapi.Schema) *types.Type {
	if s == nil {
		return types.DynType
	}
	if typ, ok := t.types[s]; ok {
		return typ
	}
	t.types[s] = types.DynType // of a list of itself
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

// schemaOf is the schema of the field that the value is from, or of the object that it is. Else it
// is one of which only the type in CEL is known.
func (t *Table) schemaOf(v Type) *openapi.Schema {
	s := cmp.Or(v.schema, t.objects[v.Inner().CEL().TypeName()])
	if s == nil {
		s = &openapi.Schema{}
		t.types[s] = inner(v.CEL())
	}
	return s
}

// Element is an item of a list, or a value of a map.
func (t *Table) Element(v Type) Type {
	if s := v.schema; s != nil && (s.Type == openapi.List || s.Type == openapi.Map) {
		return t.Of(s.Items)
	}
	if params := v.CEL().Parameters(); v.Kind() == types.ListKind || v.Kind() == types.MapKind {
		return t.fromCEL(params[len(params)-1])
	}
	return Type{}
}

// List is a list of such values.
func (t *Table) List(v Type) Type {
	if !v.IsKnown() {
		return Of(types.NewListType(types.DynType))
	}
	return Type{cel: types.NewListType(v.cel), schema: &openapi.Schema{Type: openapi.List, Items: t.schemaOf(v)}}
}

// Record is a mapping whose fields are all known.
func (t *Table) Record(fields map[string]Type) Type {
	s := &openapi.Schema{Type: openapi.Object, Fields: make(map[string]*openapi.Field, len(fields))}
	for name, v := range fields {
		s.Fields[name] = &openapi.Field{Schema: t.schemaOf(v), Required: !IsOptional(v.CEL())}
	}
	return t.Of(s)
}

// Item is what a forEach over the value gives: an item of a list, {key, value} of a map.
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

// ScalarType is the type of a scalar that is written out.
func ScalarType(value any) Type {
	switch value.(type) {
	case string:
		return Of(types.StringType)
	case int64:
		return Of(types.IntType)
	case float64:
		return Of(types.DoubleType)
	case bool:
		return Of(types.BoolType)
	case nil:
		return Of(types.NullType)
	}
	return Type{}
}

// FieldNames lists the fields of an object, sorted.
func FieldNames(s *openapi.Schema) []string { return slices.Sorted(maps.Keys(s.Fields)) }

// inner is the type of an optional's value, and every other type as it is.
func inner(t *types.Type) *types.Type {
	if IsOptional(t) && len(t.Parameters()) == 1 {
		return t.Parameters()[0]
	}
	return t
}

// IsOptional reports whether a type is that of optional values.
func IsOptional(t *types.Type) bool {
	return t.Kind() == types.OpaqueKind && t.TypeName() == types.OptionalType.TypeName()
}
