package check

import (
	"strings"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/diagnostic"
)

// misfit is why values of a type cannot stand in a field.
type misfit struct {
	want, got string
	// field is one that an object has and should not have.
	field string
	// convert is how a value is made to fit, with %s for the expression. It is empty if that is
	// not known.
	convert string
}

// hintFor is what to write in place of source. compound is true if source needs parentheses
// before a dot.
func (m *misfit) hintFor(source string, compound bool) string {
	if compound && strings.Contains(m.convert, "%s.") {
		source = "(" + source + ")"
	}
	return strings.ReplaceAll(m.convert, "%s", source)
}

// maxCompared is how deep two types are compared: a schema may contain itself.
const maxCompared = 20

// misfit compares what is known of a value with a schema. It is nil if the value can fit.
func (t *Table) misfit(v Type, s *openapi.Schema, depth int) *misfit {
	if s == nil || s.Type == openapi.Any || depth > maxCompared {
		return nil
	}
	isList, isMapping := s.Type == openapi.List, s.Type == openapi.Map || s.Type == openapi.Object
	switch typ := v.CEL(); {
	case IsOptional(typ):
		m := t.misfit(v.Inner(), s, depth+1)
		if m != nil {
			m = &misfit{want: m.want, got: m.got + ", where it exists", convert: m.forEach("write %s.optMap(v, ", ")")}
		}
		return m
	case isLoose(typ) || typ.Kind() == types.NullTypeKind:
		if v.schema == nil || v.schema.Type != openapi.IntOrString || !isList && !isMapping && s.Type != openapi.Boolean {
			return nil
		}
		return &misfit{want: wants(s), got: wants(v.schema)} // neither truth nor list nor map
	case typ.Kind() == types.ListKind && isList:
		return t.misfit(t.Element(v), s.Items, depth+1).within("a list", "write %s.map(v, ")
	case typ.Kind() == types.MapKind && s.Type == openapi.Map:
		return t.misfit(t.Element(v), s.Items, depth+1).within("a mapping", "write %s.transformMap(k, v, ")
	case typ.Kind() == types.MapKind && isMapping:
		return nil // its keys are not known
	case typ.Kind() == types.StructKind && isMapping:
		return t.objectMisfit(t.schemaOf(v), s, depth)
	case typ.Kind() == types.StructKind:
		return &misfit{want: wants(s), got: "a mapping"}
	case typ.Kind() == types.ListKind || typ.Kind() == types.MapKind:
		return &misfit{want: wants(s), got: v.String()}
	default:
		convert, fits := fitting(typ.Kind(), s)
		if fits {
			return nil
		}
		return &misfit{want: wants(s), got: v.String(), convert: convert}
	}
}

// forEach is how each value, called v, of what holds such values is made to fit.
func (m *misfit) forEach(before, after string) string {
	if m.convert == "" {
		return ""
	}
	return before + strings.TrimPrefix(m.hintFor("v", false), "write ") + after
}

// within is the misfit of a list or a map of such values; nil of nil.
func (m *misfit) within(container, convert string) *misfit {
	if m == nil {
		return nil
	}
	out := &misfit{convert: m.forEach(convert, ")")}
	want, got := plural(m.want), plural(m.got)
	switch {
	case m.field != "":
		out.want, out.got = container+" of mappings without "+m.field, container+" of some that have it"
	case want != "" && got != "":
		out.want, out.got = container+" of "+want, container+" of "+got
	default:
		out.want, out.got = container+" in which each value is "+m.want, container+" in which each is "+m.got
	}
	return out
}

// objectMisfit compares an object with a mapping, as far as its fields always exist.
func (t *Table) objectMisfit(from, s *openapi.Schema, depth int) *misfit {
	if from == nil || from == s {
		return nil
	}
	for _, name := range fieldNames(from) {
		field := from.Fields[name]
		if !field.Required {
			continue
		}
		into, ok := s.At(name)
		if !ok {
			return &misfit{want: "a mapping without " + name, got: "one that has it", field: name, convert: diagnostic.DidYouMean(name, fieldNames(s))}
		}
		if m := t.misfit(t.Of(field.Schema), into, depth+1); m != nil {
			return &misfit{want: "a mapping in which " + name + " is " + m.want, got: "one in which it is " + m.got}
		}
	}
	return nil
}

// fitting reports whether a field takes the scalars of a kind, and if not, how they are made to
// fit.
func fitting(kind types.Kind, s *openapi.Schema) (convert string, fits bool) {
	isInt, isText := kind == types.IntKind || kind == types.UintKind, kind == types.StringKind
	isNumber := isInt || kind == types.DoubleKind
	switch s.Type {
	case openapi.String:
		switch {
		case !s.IsBytes():
			return "write string(%s)", isText || kind == types.TimestampKind || kind == types.DurationKind
		case isText:
			return "write bytes(%s)", false
		}
		return "write bytes(string(%s))", kind == types.BytesKind
	case openapi.Integer:
		if isText || isNumber {
			return "write int(%s)", isInt
		}
	case openapi.Number:
		if isText || isNumber {
			return "write double(%s)", isNumber
		}
	case openapi.IntOrString:
		switch {
		case isText || isNumber:
			return "write int(%s)", isText || isInt || s.Format == openapi.FormatQuantity
		case kind == types.OpaqueKind || kind == types.BytesKind:
			return "write string(%s)", false
		}
	case openapi.Boolean:
		switch {
		case isText:
			return "write %s == 'true'", false
		case isNumber:
			return "compare it, as in %s > 0", false
		}
		return "", kind == types.BoolKind
	case openapi.List:
		return "write [%s]", false
	}
	return "", false
}
