package rules

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/syntax"
)

// typed is what is known of a value before the rule runs. Of the zero value
// nothing is known.
type typed struct {
	// typ is the value's type in CEL, nil where nothing is known. An object with
	// fields has a type of the schema's own (types.StructKind), of which the types
	// table has the schema.
	typ *types.Type
	// schema is that of the field that the value was read from, or of the value;
	// nil for scalars that CEL computed.
	schema *openapi.Schema
	// root names a value of which the members have types of their own.
	root string
}

// cel is the type in CEL; dyn where nothing is known.
func (t typed) cel() *types.Type {
	if t.typ == nil {
		return types.DynType
	}
	return t.typ
}

// known says whether something is known of the value.
func (t typed) known() bool { return t.typ != nil && t.typ.Kind() != types.DynKind }

// typeTable gives schemas the types that values have in expressions, one field
// at a time: of a kind with a thousand fields it holds what the rule reads. It is
// for one compilation.
type typeTable struct {
	types map[*openapi.Schema]*types.Type
	// objects are the schemas of objects by the names of their types.
	objects map[string]*openapi.Schema
	// bytes says which schemas have bytes in them, as far as somebody asked.
	bytes map[*openapi.Schema]bool
}

func newTypeTable() *typeTable {
	return &typeTable{types: map[*openapi.Schema]*types.Type{}, objects: map[string]*openapi.Schema{}, bytes: map[*openapi.Schema]bool{}}
}

// hasBytes says whether a value that fits the schema can have bytes in it, where the
// schema says so.
func (t *typeTable) hasBytes(s *openapi.Schema) bool {
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
	if isBytes(s) || holdsBytes(s.Items, seen) {
		return true
	}
	for _, field := range s.Fields {
		if holdsBytes(field.Schema, seen) {
			return true
		}
	}
	return false
}

// isBytes says whether values that fit the schema are bytes, which JSON has as base64.
func isBytes(s *openapi.Schema) bool {
	return s != nil && s.Type == openapi.String && s.Format == formatByte
}

// of is the type of a value that fits the schema.
func (t *typeTable) of(s *openapi.Schema) typed {
	if s == nil {
		return typed{}
	}
	return typed{typ: t.celType(s), schema: s}
}

// fromCEL is a value that CEL computed.
func (t *typeTable) fromCEL(typ *types.Type) typed {
	return typed{typ: typ, schema: t.objects[typ.TypeName()]}
}

// celType maps schemas to types of CEL as Kubernetes does in its own
// expressions: a date-time is a timestamp and a duration is one, base64 is bytes, and
// what may be a number or text is dynamic.
func (t *typeTable) celType(s *openapi.Schema) *types.Type {
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

func (t *typeTable) newType(s *openapi.Schema) *types.Type {
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
		case "date-time", "date":
			return types.TimestampType
		case "duration":
			return types.DurationType
		case formatByte:
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

// schemaOf is the schema of what is known to fit: that of the field that the
// value is from, else one made of its type.
func (t *typeTable) schemaOf(v typed) *openapi.Schema {
	if v.schema != nil {
		return v.schema
	}
	typ := v.cel()
	switch typ.Kind() {
	case types.StructKind:
		return t.objects[typ.TypeName()]
	case types.ListKind:
		return &openapi.Schema{Type: openapi.List, Items: t.schemaOf(t.fromCEL(typ.Parameters()[0]))}
	case types.MapKind:
		return &openapi.Schema{Type: openapi.Map, Items: t.schemaOf(t.fromCEL(typ.Parameters()[1]))}
	case types.StringKind:
		return &openapi.Schema{Type: openapi.String}
	case types.BytesKind:
		return &openapi.Schema{Type: openapi.String, Format: formatByte}
	case types.TimestampKind:
		return &openapi.Schema{Type: openapi.String, Format: "date-time"}
	case types.DurationKind:
		return &openapi.Schema{Type: openapi.String, Format: "duration"}
	case types.IntKind, types.UintKind:
		return &openapi.Schema{Type: openapi.Integer}
	case types.DoubleKind:
		return &openapi.Schema{Type: openapi.Number}
	case types.BoolKind:
		return &openapi.Schema{Type: openapi.Boolean}
	case types.OpaqueKind:
		if isOptional(typ) {
			return t.schemaOf(t.fromCEL(typ.Parameters()[0]))
		}
	default:
	}
	return &openapi.Schema{}
}

// element is an item of a list, or a value of a map.
func (t *typeTable) element(v typed) typed {
	typ := v.cel()
	if s := v.schema; s != nil && (s.Type == openapi.List || s.Type == openapi.Map) {
		return t.of(s.Items)
	}
	switch typ.Kind() {
	case types.ListKind:
		return t.fromCEL(typ.Parameters()[0])
	case types.MapKind:
		return t.fromCEL(typ.Parameters()[1])
	default:
		return typed{}
	}
}

// unwrapped is an optional's value, and every other as it is.
func (t *typeTable) unwrapped(v typed) typed {
	v.typ = innerType(v.cel())
	return v
}

// list is a list of such values.
func (t *typeTable) list(v typed) typed {
	if !v.known() {
		return typed{typ: types.NewListType(types.DynType)}
	}
	return typed{typ: types.NewListType(v.typ), schema: &openapi.Schema{Type: openapi.List, Items: t.schemaOf(v)}}
}

// record is a mapping whose fields are all known.
func (t *typeTable) record(fields map[string]typed) typed {
	s := &openapi.Schema{Type: openapi.Object, Fields: make(map[string]*openapi.Field, len(fields))}
	for name, v := range fields {
		s.Fields[name] = &openapi.Field{Schema: t.schemaOf(v), Required: !isOptional(v.cel())}
	}
	return t.of(s)
}

// item is what a forEach over the value gives: an item of a list, {key, value}
// of a map.
func (t *typeTable) item(v typed) typed {
	typ := v.cel()
	if isOptional(typ) {
		return t.item(t.fromCEL(typ.Parameters()[0]))
	}
	switch typ.Kind() {
	case types.ListKind:
		return t.element(v)
	case types.MapKind, types.StructKind:
		return t.record(map[string]typed{"key": {typ: types.StringType}, "value": t.element(v)})
	default:
		return typed{}
	}
}

// constType is the type of a scalar that is written out.
func constType(value any) typed {
	switch value.(type) {
	case string:
		return typed{typ: types.StringType}
	case int64:
		return typed{typ: types.IntType}
	case float64:
		return typed{typ: types.DoubleType}
	case bool:
		return typed{typ: types.BoolType}
	case nil:
		return typed{typ: types.NullType}
	}
	return typed{}
}

// mappingType is the type of a mapping in a template, of whose fields the origins
// are known.
func (c *compiler) mappingType(t mapTemplate, fields map[string]*origin) typed {
	known := make(map[string]typed, len(fields))
	for name, from := range fields {
		known[name] = from.typ
	}
	if len(t.entries) == 0 || slices.ContainsFunc(t.entries, func(e entry) bool { return e.key != nil }) {
		return typed{typ: types.NewMapType(types.StringType, types.DynType)}
	}
	return c.types.record(known)
}

// kindType is the type of whole objects of a kind.
func (c *compiler) kindType(gvk schema.GroupVersionKind) typed {
	return c.types.of(c.schemaOf(gvk))
}

// statusType is the type of the parent's status.
func (c *compiler) statusType() typed {
	parent := c.kindType(c.rule.Parent.GVK)
	if parent.cel().Kind() != types.StructKind || parent.schema.Fields["status"] == nil {
		return typed{}
	}
	return c.types.of(parent.schema.Fields["status"].Schema)
}

// childType is the type of children.<id>.
func (c *compiler) childType(id string) typed {
	spec := c.children[id]
	if spec == nil {
		return typed{}
	}
	object := c.kindType(syntax.TemplateGVK(spec.Template))
	if spec.Many() {
		return c.types.list(object)
	}
	return object
}

// lookupType is the type of lookups.<id>.
func (c *compiler) lookupType(id string) typed {
	l := c.lookups[id]
	if l == nil {
		return typed{}
	}
	object := c.kindType(l.spec.GVK)
	if l.spec.IsList() {
		return c.types.list(object)
	}
	return object
}

// fieldNames lists the fields of an object, sorted.
func fieldNames(s *openapi.Schema) []string {
	names := make([]string, 0, len(s.Fields))
	for name := range s.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// innerType is the type of an optional's value.
func innerType(t *types.Type) *types.Type {
	if celenv.IsOptional(t) && len(t.Parameters()) == 1 {
		return t.Parameters()[0]
	}
	return t
}
