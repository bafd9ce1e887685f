package check

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
)

// String names the type in a sentence: "an int", "a list".
func (t Type) String() string { return celenv.TypeWords(t.CEL()) }

// Wants names the values that a schema takes, in a sentence: "a list".
func Wants(s *openapi.Schema) string {
	switch s.Type {
	case openapi.Object, openapi.Map:
		return "a mapping"
	case openapi.List:
		return "a list"
	case openapi.String:
		if s.IsBytes() {
			return "bytes"
		}
		return "a string"
	case openapi.Integer:
		return "an integer"
	case openapi.Number:
		return "a number"
	case openapi.Boolean:
		return "true or false"
	case openapi.IntOrString:
		if s.Format == openapi.FormatQuantity {
			return "a quantity, such as 500m or 2Gi"
		}
		return "an integer or a string"
	}
	return "something else"
}

// plural turns "an int" into "ints". It returns "" for words without a simple plural.
func plural(words string) string {
	article, noun, ok := strings.Cut(words, " ")
	switch {
	case words == "bytes":
		return words
	case ok && (article == "a" || article == "an") && !strings.Contains(noun, " "):
		return noun + "s"
	}
	return ""
}

// Listed joins names as in "a, b and c", with word before the last.
func Listed(names []string, word string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + word + " " + names[len(names)-1]
}

// TextHint says how to convert a value to text. noText names the type if it cannot stand within text; it is empty for
// every other type.
func (t Type) TextHint() (noText, hint string) {
	switch t.Kind() {
	case types.ListKind:
		hint = "write toJson(…), or join strings with list.join(', ')"
	case types.MapKind, types.StructKind:
		hint = "read a field of it, or write toJson(…)"
	case types.NullTypeKind:
	case types.BytesKind, types.OpaqueKind:
		switch {
		case IsOptional(t.CEL()):
			hint = "give it a default with orValue(…)"
		case hasNoString(t.CEL()):
			hint = t.UntypedHint()
		default:
			hint = "write string(…)"
		}
	default:
		return "", ""
	}
	return t.String(), hint
}

// hasNoString reports whether a type is one of Kubernetes' functions, such as quantity(…), that string() does not take.
// Only the text that such a value was parsed from can be used instead.
func hasNoString(t *types.Type) bool {
	return t.Kind() == types.StructKind && kindOf(t) == types.OpaqueKind
}

// UntypedHint says what to write instead of a value that JSON does not have. It is empty if JSON may have the value.
func (t Type) UntypedHint() string {
	switch {
	case hasNoString(t.CEL()):
		_, name, _ := strings.Cut(t.CEL().TypeName(), ".")
		return "leave out " + strings.ToLower(name) + "(…): a field takes the text that it reads"
	case t.Kind() == types.OpaqueKind && !IsOptional(t.CEL()):
		return "write string(…)"
	}
	return ""
}

// BoolHint says how to turn the value into a condition, for an author who used it as one. path is the value's path;
// without one there is no hint.
func (t Type) BoolHint(path string) string {
	if path == "" {
		return ""
	}
	if after := t.boolSuffix(); after != "" {
		return "write " + path + after
	}
	return optionalHint(path, t)
}

// boolSuffix is what makes a condition of the value's path; "" if nothing does.
func (t Type) boolSuffix() string {
	switch t.Kind() {
	case types.IntKind, types.DoubleKind:
		return " > 0"
	case types.StringKind:
		return ` != ""`
	case types.ListKind, types.MapKind:
		return ".size() > 0"
	case types.OpaqueKind:
		if t.Inner().Kind() == types.BoolKind {
			return ".orValue(false)"
		}
	default:
	}
	return ""
}

// optionalHint says how to get an optional's value.
func optionalHint(path string, v Type) string {
	if path == "" || !IsOptional(v.CEL()) {
		return ""
	}
	return "give it a default, as in " + path + ".orValue(…)"
}

// hasTextForm reports whether a value that is not text can be converted with string().
func hasTextForm(t Type) bool {
	switch t.Kind() {
	case types.IntKind, types.DoubleKind, types.BoolKind, types.TimestampKind, types.DurationKind, types.BytesKind:
		return true
	default:
		return false
	}
}

// IsOperator reports whether an expression is an operator with its operands.
func IsOperator(e ast.Expr) bool {
	if e.Kind() != ast.CallKind {
		return false
	}
	symbol, ok := operators.FindReverse(e.AsCall().FunctionName())
	return ok && symbol != ""
}

// Misfit says why a field does not take values of a type.
type Misfit struct {
	Want, Got string
	// Field is a field that an object has and should not have.
	Field string
	// Convert is a hint how to make a value fit, with %s for the expression. It is empty if there is none.
	Convert string
}

// HintFor returns the hint for the expression source. compound is true if source needs parentheses before a dot.
func (m *Misfit) HintFor(source string, compound bool) string {
	if compound && strings.Contains(m.Convert, "%s.") {
		source = "(" + source + ")"
	}
	return strings.ReplaceAll(m.Convert, "%s", source)
}

// isExact reports whether Convert says what to write in place of the expression, and nothing besides.
func (m *Misfit) isExact() bool {
	call := strings.HasSuffix(m.Convert, "(%s)") && strings.Count(m.Convert, "(") == 1
	return strings.HasPrefix(m.Convert, "write %s") && !strings.Contains(m.Convert, "bytes(") || call && m.Convert != "write bytes(%s)"
}

// maxCompared bounds how deep two types are compared, because a schema may contain itself.
const maxCompared = 20

// Misfit compares the type of a value with a schema. It returns nil if the value can fit.
func (t *Table) Misfit(v Type, s *openapi.Schema) *Misfit { return t.misfit(v, s, 0) }

func (t *Table) misfit(v Type, s *openapi.Schema, depth int) *Misfit {
	if s == nil || s.Type == openapi.Any || depth > maxCompared {
		return nil
	}
	isList, isMapping := s.Type == openapi.List, s.Type == openapi.Map || s.Type == openapi.Object
	switch typ := v.CEL(); {
	case IsOptional(typ):
		m := t.misfit(v.Inner(), s, depth+1)
		if m != nil {
			m = &Misfit{Want: m.Want, Got: m.Got + ", where it exists", Convert: m.forEach("write %s.optMap(v, ", ")")}
		}
		return m
	case isLoose(typ) || typ.Kind() == types.NullTypeKind:
		if v.schema == nil || v.schema.Type != openapi.IntOrString || !isList && !isMapping && s.Type != openapi.Boolean {
			return nil
		}
		return &Misfit{Want: Wants(s), Got: Wants(v.schema)} // an int or a string is no bool, list or map
	case typ.Kind() == types.ListKind && isList:
		return t.misfit(t.Element(v), s.Items, depth+1).within("a list", "write %s.map(v, ")
	case typ.Kind() == types.MapKind && s.Type == openapi.Map:
		return t.misfit(t.Element(v), s.Items, depth+1).within("a mapping", "write %s.transformMap(k, v, ")
	case typ.Kind() == types.MapKind && isMapping:
		return nil // its keys are not known
	case kindOf(typ) == types.StructKind && isMapping:
		return t.objectMisfit(t.schemaOf(v), s, depth)
	case kindOf(typ) == types.StructKind, typ.Kind() == types.ListKind, typ.Kind() == types.MapKind:
		return noScalar(v, s, depth)
	default:
		convert, fits := Fitting(kindOf(typ), s)
		if fits {
			return nil
		}
		if hasNoString(typ) {
			if convert = ""; s.Type == openapi.String || s.Type == openapi.IntOrString {
				convert = v.UntypedHint()
			}
		}
		return &Misfit{Want: Wants(s), Got: v.String(), Convert: convert}
	}
}

// noScalar is the misfit of a list, a map or an object.
func noScalar(v Type, s *openapi.Schema, depth int) *Misfit {
	m := &Misfit{Want: Wants(s), Got: v.String()}
	if kindOf(v.CEL()) == types.StructKind {
		m.Got = "a mapping"
	}
	if s.Type == openapi.String && !s.IsBytes() && depth == 0 {
		_, m.Convert = v.TextHint()
	}
	return m
}

// forEach returns a hint how to convert each value of a container; the hint names the value v.
func (m *Misfit) forEach(before, after string) string {
	if m.Convert == "" {
		return ""
	}
	return before + strings.TrimPrefix(m.HintFor("v", false), "write ") + after
}

// within returns the misfit of a container with such values. It returns nil for nil.
func (m *Misfit) within(container, convert string) *Misfit {
	if m == nil {
		return nil
	}
	out := &Misfit{Convert: m.forEach(convert, ")")}
	want, got := plural(m.Want), plural(m.Got)
	switch {
	case m.Field != "":
		out.Want, out.Got = container+" of mappings without "+m.Field, container+" of some that have it"
	case want != "" && got != "":
		out.Want, out.Got = container+" of "+want, container+" of "+got
	default:
		out.Want, out.Got = container+" in which each value is "+m.Want, container+" in which each is "+m.Got
	}
	return out
}

// objectMisfit compares those fields of an object that always exist with a mapping.
func (t *Table) objectMisfit(from, s *openapi.Schema, depth int) *Misfit {
	if from == nil || from == s {
		return nil
	}
	for _, name := range FieldNames(from) {
		field := from.Fields[name]
		if !field.Required {
			continue
		}
		into, ok := s.At(name)
		if !ok {
			return &Misfit{Want: "a mapping without " + name, Got: "one that has it", Field: name, Convert: diagnostic.DidYouMean(name, FieldNames(s))}
		}
		if m := t.misfit(t.Of(field.Schema), into, depth+1); m != nil {
			return &Misfit{Want: "a mapping in which " + name + " is " + m.Want, Got: "one in which it is " + m.Got}
		}
	}
	return nil
}

// Fitting reports whether a field takes the scalars of a kind, and how to convert them if not.
func Fitting(kind types.Kind, s *openapi.Schema) (convert string, fits bool) {
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
