package check

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// writeBytes says how to write text that should be bytes. It does not repeat the text, which may be a password.
const writeBytes = "write ${bytes('…')}"

// written compares a scalar without expressions with its schema.
func (t *TemplateCheck) written(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	if takes(s, n.Value) {
		t.constant(n.Value, s, at, t.at(n))
		return
	}
	what, hint := n.What(), writtenHint(n.Value, s)
	if number, isFloat := n.Value.(float64); isFloat && s.Type != openapi.String {
		what = strconv.FormatFloat(number, 'g', -1, 64)
	}
	if s.IsBytes() {
		hint = bytesHint(writeBytes, at)
	}
	f := t.report(n, diagnostic.CodeFieldForm, "%s must be %s, and is %s", at, Wants(s), what)
	f.Hint = hint
	text, isText := n.Text()
	switch list, isList := strings.CutSuffix(strings.TrimPrefix(hint, "write "), ", a list of one"); {
	case hint == syntax.QuotesHint:
		syntax.SuggestQuotes(f, n)
	case hint == withoutQuotes && n.Literal() != text:
		f.WithEdit(t.at(n), n.Literal(), text)
	case isList && isText && n.Literal() != text:
		f.WithEdit(t.at(n), n.Literal(), "["+n.Literal()+"]")
	case isList:
		f.WithEdit(t.at(n), n.Raw(), list)
	}
}

// takes reports whether a field takes a literal value. Bytes are written as base64 text.
func takes(s *openapi.Schema, value any) bool {
	if number, ok := value.(float64); ok && number == math.Trunc(number) {
		value = int64(number)
	}
	kind := ScalarType(value).Kind()
	_, fits := Fitting(kind, s)
	return fits || kind == types.NullTypeKind || kind == types.StringKind && s.IsBytes()
}

// writtenHint says how to write a value in a field that does not take it.
func writtenHint(value any, s *openapi.Schema) string {
	text, isText := value.(string)
	switch {
	case isText:
		return unquoteHint(text, s)
	case s.Type == openapi.String:
		return syntax.QuotesHint
	}
	if number, ok := value.(int64); ok && s.Type == openapi.List {
		if s.Items != nil && s.Items.Type == openapi.String {
			return fmt.Sprintf("write [\"%d\"], a list of one", number)
		}
		return fmt.Sprintf("write [%d], a list of one", number)
	}
	return ""
}

// withoutQuotes is the hint for text that is a number or a boolean.
const withoutQuotes = "write it without quotes"

// unquoteHint says how to write text that should be another type.
func unquoteHint(text string, s *openapi.Schema) string {
	_, notInt := strconv.ParseInt(text, 10, 64)
	_, notFloat := strconv.ParseFloat(text, 64)
	_, notBool := strconv.ParseBool(text)
	yesOrNo := slices.Contains([]string{"yes", "no", "on", "off"}, strings.ToLower(text)) // booleans in older YAML
	switch {
	case s.Type == openapi.Integer && notInt == nil,
		s.Type == openapi.Number && notFloat == nil,
		s.Type == openapi.Boolean && (text == "true" || text == "false"):
		return withoutQuotes
	case s.Type == openapi.Boolean && (notBool == nil || yesOrNo):
		return "write true or false"
	case s.Type == openapi.List && s.Items != nil && s.Items.Type == openapi.String && text != "":
		return fmt.Sprintf("write [%s], a list of one", strconv.Quote(text))
	}
	return ""
}

// constant compares a value of the right type with the enum and the format of its schema.
func (t *TemplateCheck) constant(value any, s *openapi.Schema, at *fieldPath, pos diagnostic.Position) {
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return enumText(e) == enumText(value) }) && (!t.BuiltIn || value != "") {
		t.reportAt(pos, diagnostic.CodeFieldEnum, "%s cannot be %s; %s", at, enumText(value), enumChoice(s.Enum)).
			Suggest(enumNames(value, s.Enum))
		return
	}
	switch want := t.badFormat(value, s); {
	case want == "":
	case s.Format == openapi.FormatByte:
		// It may be a password.
		t.reportAt(pos, diagnostic.CodeFieldFormat, "%s must be base64, and is not", at).WithHint("%s", bytesHint(writeBytes, at))
	default:
		t.reportAt(pos, diagnostic.CodeFieldFormat, "%s must be %s, and is %s", at, want, enumText(value))
	}
}

// enumText writes a scalar so that values that are equal in JSON have the same text.
func enumText(value any) string {
	if s, ok := value.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(value)
}

func enumChoice(enum []any) string {
	if len(enum) > maxListed {
		return fmt.Sprintf("it has %d values to choose from", len(enum))
	}
	texts := make([]string, len(enum))
	for i, e := range enum {
		texts[i] = enumText(e)
	}
	if len(texts) == 1 {
		return "it can only be " + texts[0]
	}
	return "it can be " + Listed(texts, "or")
}

func enumNames(value any, enum []any) (text string, names []string) {
	text, _ = value.(string)
	for _, e := range enum {
		if s, ok := e.(string); ok {
			names = append(names, s)
		}
	}
	return text, names
}

// badFormat returns what the value must be if it does not have the format of its field; else "".
func (t *TemplateCheck) badFormat(value any, s *openapi.Schema) (want string) {
	switch v := value.(type) {
	case int64:
		// The Go type of int-or-string has 32 bits too.
		narrow := s.Format == "int32" || t.BuiltIn && s.Type == openapi.IntOrString && s.Format != openapi.FormatQuantity
		if narrow && (v > math.MaxInt32 || v < math.MinInt32) {
			return "an integer of 32 bits"
		}
	case string:
		return t.badText(v, s)
	}
	return ""
}

func (t *TemplateCheck) badText(text string, s *openapi.Schema) (want string) {
	ok := true
	switch s.Format {
	case "":
	case openapi.FormatQuantity:
		ok, want = celenv.IsQuantity(text), Wants(s)
	case openapi.FormatByte:
		_, err := base64.StdEncoding.DecodeString(text)
		ok, want = err == nil, "base64"
	case openapi.FormatTime:
		_, err := time.Parse(time.RFC3339, text)
		ok, want = err == nil || !t.BuiltIn && strfmt.IsDateTime(text), "a time, such as 2026-01-31T12:00:00Z"
	case openapi.FormatDuration:
		ok, want = strfmt.IsDuration(text), "a duration, such as 90s or 1h30m"
	default:
		ok, want = t.BuiltIn || !strfmt.Default.ContainsName(s.Format) || strfmt.Default.Validates(s.Format, text), "of the format "+s.Format
	}
	if ok {
		return ""
	}
	return want
}
