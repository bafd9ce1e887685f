package rules

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/diagnostic"
)

// misfit is why values of a type cannot stand in a field.
type misfit struct {
	want, got string
	// wantMany and gotMany are the same in the plural, where there is one.
	wantMany, gotMany string
	// field is one that an object has and should not have.
	field string
	// convert is how a value can be made to fit, with %s for the expression;
	// empty where nothing is known.
	convert string
}

// hintFor says what to write instead of source. compound is true where source
// needs parentheses before a dot.
func (m *misfit) hintFor(source string, compound bool) string {
	if m.convert == "" {
		return ""
	}
	if compound && strings.Contains(m.convert, "%s.") {
		source = "(" + source + ")"
	}
	return strings.ReplaceAll(m.convert, "%s", source)
}

// isOperator says whether an expression is an operator with its operands.
func isOperator(e ast.Expr) bool {
	if e.Kind() != ast.CallKind {
		return false
	}
	symbol, ok := operators.FindReverse(e.AsCall().FunctionName())
	return ok && symbol != ""
}

// maxCompared is how deep two types are compared: a schema may contain itself.
const maxCompared = 20

// misfit compares what is known of a value with a schema; nil where it can fit.
func (f *conformer) misfit(v typed, s *openapi.Schema, depth int) *misfit {
	if s == nil || s.Type == openapi.Any || depth > maxCompared {
		return nil
	}
	t := v.cel()
	switch t.Kind() {
	case types.DynKind, types.AnyKind, types.NullTypeKind, types.ErrorKind, types.TypeParamKind:
		return unionMisfit(v.schema, s)
	case types.ListKind:
		if s.Type != openapi.List {
			return &misfit{want: wants(s), got: "a list"}
		}
		if inner := f.misfit(f.c.types.element(v), s.Items, depth+1); inner != nil {
			return inner.within("a list", "write %s.map(v, "+inner.forEach()+")")
		}
		return nil
	case types.MapKind:
		return f.mapMisfit(v, s, depth)
	case types.StructKind:
		return f.objectMisfit(f.c.types.schemaOf(v), s, depth)
	case types.OpaqueKind:
		if isOptional(t) {
			return f.optionalMisfit(v, s, depth)
		}
	default:
	}
	return scalarMisfit(t, s)
}

// unionMisfit compares an int-or-string, which is neither truth nor list nor map.
func unionMisfit(from, s *openapi.Schema) *misfit {
	if from == nil || from.Type != openapi.IntOrString {
		return nil
	}
	switch s.Type {
	case openapi.Boolean, openapi.List, openapi.Map, openapi.Object:
		return &misfit{want: wants(s), got: wants(from)}
	}
	return nil
}

func (f *conformer) optionalMisfit(v typed, s *openapi.Schema, depth int) *misfit {
	inner := f.misfit(f.c.types.unwrapped(v), s, depth+1)
	if inner == nil {
		return nil
	}
	out := &misfit{want: inner.want, got: inner.got + ", where it exists"}
	if inner.convert != "" {
		out.convert = "write %s.optMap(v, " + inner.forEach() + ")"
	}
	return out
}

// forEach is how a value called v is made to fit.
func (m *misfit) forEach() string {
	return strings.TrimPrefix(m.hintFor("v", false), "write ")
}

// within is the misfit of a list or a map of such values.
func (m *misfit) within(container, convert string) *misfit {
	out := &misfit{want: container + " in which each value is " + m.want, got: container + " in which each is " + m.got}
	switch {
	case m.field != "":
		out.want, out.got = container+" of mappings without "+m.field, container+" of some that have it"
	case m.wantMany != "" && m.gotMany != "":
		out.want, out.got = container+" of "+m.wantMany, container+" of "+m.gotMany
	}
	if m.convert != "" {
		out.convert = convert
	}
	return out
}

func (f *conformer) mapMisfit(v typed, s *openapi.Schema, depth int) *misfit {
	switch s.Type {
	case openapi.Map:
		if inner := f.misfit(f.c.types.element(v), s.Items, depth+1); inner != nil {
			return inner.within("a mapping", "write %s.transformMap(k, v, "+inner.forEach()+")")
		}
		return nil
	case openapi.Object:
		return nil // its keys are not known
	}
	return &misfit{want: wants(s), got: "a map"}
}

// objectMisfit compares an object whose fields are known, as far as they are
// there in any case.
func (f *conformer) objectMisfit(from, s *openapi.Schema, depth int) *misfit {
	if from == nil || from == s {
		return nil
	}
	if s.Type != openapi.Map && s.Type != openapi.Object {
		return &misfit{want: wants(s), got: "a mapping"}
	}
	for _, name := range fieldNames(from) {
		field := from.Fields[name]
		if !field.Required {
			continue
		}
		into := s.Items
		if s.Type == openapi.Object {
			known := s.Fields[name]
			switch {
			case known != nil:
				into = known.Schema
			case s.Open:
				continue
			default:
				hint := diagnostic.DidYouMean(name, fieldNames(s))
				return &misfit{want: "a mapping without " + name, got: "one that has it", field: name, convert: hint}
			}
		}
		if inner := f.misfit(f.c.types.of(field.Schema), into, depth+1); inner != nil {
			return &misfit{want: "a mapping in which " + name + " is " + inner.want, got: "one in which it is " + inner.got}
		}
	}
	return nil
}

// scalarMisfit compares a type without parts.
func scalarMisfit(t *types.Type, s *openapi.Schema) *misfit {
	m := &misfit{want: wants(s), wantMany: manyWanted(s), got: typeWords(t)}
	if article, noun, ok := strings.Cut(m.got, " "); ok && strings.HasPrefix("an", article) {
		m.gotMany = noun + "s"
	} else if t.Kind() == types.BytesKind {
		m.gotMany = m.got
	}
	accepted := func(kinds ...types.Kind) bool { return slices.Contains(kinds, t.Kind()) }
	number := accepted(types.IntKind, types.UintKind, types.DoubleKind)
	switch s.Type {
	case openapi.String:
		if m.convert = textConversion(t.Kind(), isBytes(s)); m.convert == "" {
			return nil
		}
	case openapi.Integer:
		switch {
		case accepted(types.IntKind, types.UintKind):
			return nil
		case accepted(types.StringKind, types.DoubleKind):
			m.convert = "write int(%s)"
		}
	case openapi.Number:
		switch {
		case number:
			return nil
		case accepted(types.StringKind):
			m.convert = "write double(%s)"
		}
	case openapi.IntOrString:
		switch {
		case accepted(types.IntKind, types.UintKind, types.StringKind), number && s.Format == openapi.FormatQuantity:
			return nil
		case accepted(types.DoubleKind):
			m.convert = "write int(%s)"
		case t.Kind() == types.OpaqueKind, accepted(types.BytesKind):
			m.convert = "write string(%s)"
		}
	case openapi.Boolean:
		switch {
		case accepted(types.BoolKind):
			return nil
		case accepted(types.StringKind):
			m.convert = "write %s == 'true'"
		case number:
			m.convert = "compare it, as in %s > 0"
		}
	case openapi.List:
		m.convert = "write [%s]"
	}
	return m
}

// textConversion is how a value of a kind is made to fit a field for text, or for bytes; empty
// where it fits.
func textConversion(kind types.Kind, bytes bool) string {
	switch {
	case bytes && kind == types.BytesKind:
		return ""
	case bytes && kind == types.StringKind:
		return "write bytes(%s)"
	case bytes:
		return "write bytes(string(%s))"
	case kind == types.StringKind, kind == types.TimestampKind, kind == types.DurationKind:
		return ""
	}
	return "write string(%s)"
}

// manyWanted is wants in the plural; empty where there is none.
func manyWanted(s *openapi.Schema) string {
	switch s.Type {
	case openapi.Object, openapi.Map:
		return "mappings"
	case openapi.List:
		return "lists"
	case openapi.String:
		if isBytes(s) {
			return "bytes"
		}
		return "strings"
	case openapi.Integer:
		return "integers"
	case openapi.Number:
		return "numbers"
	}
	return ""
}
