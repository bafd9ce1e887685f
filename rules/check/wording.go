package check

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
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
		hint = "write toJson(…)"
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
