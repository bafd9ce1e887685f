package rules

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// wants says what a schema takes, for a sentence.
func wants(s *openapi.Schema) string {
	switch s.Type {
	case openapi.Object, openapi.Map:
		return "a mapping"
	case openapi.List:
		return "a list"
	case openapi.String:
		if isBytes(s) {
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

// Formats that mean more than their names say to strfmt.
const (
	formatInt32    = "int32"
	formatByte     = openapi.FormatByte
	formatTime     = "date-time"
	formatDuration = "duration"
)

// writeBytes is how text is written that should be bytes. The text may be a password.
const writeBytes = "write ${bytes('…')}"

// literal compares a scalar without expressions with its schema.
func (f *conformer) literal(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	if hint, ok := takes(s, n.Value); !ok {
		what := n.What()
		if number, isFloat := n.Value.(float64); isFloat && s.Type != openapi.String {
			what = strconv.FormatFloat(number, 'g', -1, 64)
		}
		if isBytes(s) {
			hint = bytesHint(writeBytes, at)
		}
		f.report(n, diagnostic.CodeFieldForm, "%s must be %s, and is %s", at, wants(s), what).WithHint("%s", hint)
		return
	}
	f.constant(n.Value, s, at, f.at(n))
}

// takes says whether a value of that type can stand in a field, and if not, how
// it could be written.
func takes(s *openapi.Schema, value any) (hint string, ok bool) {
	switch v := value.(type) {
	case string:
		return unquoteHint(v, s), s.Type == openapi.String || s.Type == openapi.IntOrString || s.Type == openapi.Any
	case bool:
		if s.Type == openapi.String {
			hint = syntax.QuotesHint
		}
		return hint, s.Type == openapi.Boolean || s.Type == openapi.Any
	case int64:
		switch s.Type {
		case openapi.String:
			return syntax.QuotesHint, false
		case openapi.List:
			if s.Items != nil && s.Items.Type == openapi.String {
				return fmt.Sprintf("write [\"%d\"], a list of one", v), false
			}
			return fmt.Sprintf("write [%d], a list of one", v), false
		}
		return "", s.Type == openapi.Integer || s.Type == openapi.Number || s.Type == openapi.IntOrString || s.Type == openapi.Any
	case float64:
		switch s.Type {
		case openapi.String:
			return syntax.QuotesHint, false
		case openapi.Integer, openapi.IntOrString:
			return "", v == math.Trunc(v) || s.Format == openapi.FormatQuantity
		}
		return "", s.Type == openapi.Number || s.Type == openapi.Any
	}
	return "", true
}

// withoutQuotes is for text that is a number or a truth value.
const withoutQuotes = "write it without quotes"

// unquoteHint says how text is written that should be something else.
func unquoteHint(text string, s *openapi.Schema) string {
	_, notInt := strconv.ParseInt(text, 10, 64)
	_, notFloat := strconv.ParseFloat(text, 64)
	_, notBool := strconv.ParseBool(text)
	switch {
	case s.Type == openapi.Integer && notInt == nil,
		s.Type == openapi.Number && notFloat == nil,
		s.Type == openapi.Boolean && (text == "true" || text == "false"):
		return withoutQuotes
	case s.Type == openapi.Boolean && (notBool == nil || isYesOrNo(text)):
		return "write true or false"
	case s.Type == openapi.List && s.Items != nil && s.Items.Type == openapi.String && text != "":
		return fmt.Sprintf("write [%s], a list of one", strconv.Quote(text))
	}
	return ""
}

// isYesOrNo says whether YAML once took a word for a boolean.
func isYesOrNo(text string) bool {
	switch strings.ToLower(text) {
	case "yes", "no", "on", "off":
		return true
	}
	return false
}

// constant compares a value of the right type with what else its schema says.
func (f *conformer) constant(value any, s *openapi.Schema, at *fieldPath, pos diagnostic.Position) {
	if len(s.Enum) > 0 && !isListed(value, s.Enum) && (!f.builtIn || value != "") {
		f.reportAt(pos, diagnostic.CodeFieldEnum, "%s cannot be %s; %s", at, enumText(value), enumChoice(s.Enum)).
			WithHint("%s", enumHint(value, s.Enum))
		return
	}
	reason, hint := f.badFormat(value, s)
	switch {
	case reason == "":
	case s.Format == formatByte:
		// It may be a password.
		f.reportAt(pos, diagnostic.CodeFieldFormat, "%s must be base64, and is not", at).WithHint("%s", bytesHint(writeBytes, at))
	default:
		f.reportAt(pos, diagnostic.CodeFieldFormat, "%s must be %s, and is %s", at, reason, enumText(value)).WithHint("%s", hint)
	}
}

func isListed(value any, enum []any) bool {
	for _, e := range enum {
		if enumText(e) == enumText(value) {
			return true
		}
	}
	return false
}

// enumText writes a scalar so that what is equal in JSON is the same.
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
	return "it can be " + strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1]
}

func enumHint(value any, enum []any) string {
	text, ok := value.(string)
	if !ok {
		return ""
	}
	var names []string
	for _, e := range enum {
		if s, ok := e.(string); ok {
			names = append(names, s)
		}
	}
	return diagnostic.DidYouMean(text, names)
}

// badFormat says what a value must be that is not of the format of its field;
// empty where it is.
func (f *conformer) badFormat(value any, s *openapi.Schema) (want, hint string) {
	switch v := value.(type) {
	case int64:
		// The Go type of int-or-string has 32 bits too.
		narrow := s.Format == formatInt32 || f.builtIn && s.Type == openapi.IntOrString && s.Format != openapi.FormatQuantity
		if narrow && (v > math.MaxInt32 || v < math.MinInt32) {
			return "an integer of 32 bits", ""
		}
	case string:
		return f.badText(v, s)
	}
	return "", ""
}

func (f *conformer) badText(text string, s *openapi.Schema) (want, hint string) {
	switch s.Format {
	case "":
		return "", ""
	case openapi.FormatQuantity:
		if !function.IsQuantity(text) {
			return wants(s), ""
		}
		return "", ""
	case formatByte:
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			return "base64", ""
		}
		return "", ""
	case formatTime:
		if _, err := time.Parse(time.RFC3339, text); err == nil || !f.builtIn && strfmt.IsDateTime(text) {
			return "", ""
		}
		return "a time, such as 2026-01-31T12:00:00Z", ""
	case formatDuration:
		if !strfmt.IsDuration(text) {
			return "a duration, such as 90s or 1h30m", ""
		}
		return "", ""
	}
	if !f.builtIn && strfmt.Default.ContainsName(s.Format) && !strfmt.Default.Validates(s.Format, text) {
		return "of the format " + s.Format, ""
	}
	return "", ""
}
