package syntax

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/yamltree"
)

// IsIdentifier reports whether a text consists of letters, digits and _, and does not begin with a digit.
func IsIdentifier(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && !strings.ContainsFunc(s, isBetweenNames)
}

func isBetweenNames(r rune) bool { return r > unicode.MaxASCII || !yamltree.IsNameByte(byte(r)) }

// IsCELValue reports whether CEL reads an identifier as a value or an operator, even behind a dot.
func IsCELValue(s string) bool { return s == "true" || s == "false" || s == "null" || s == "in" }

// IsCELWord reports whether an identifier cannot be the name of a variable in CEL.
func IsCELWord(s string) bool {
	switch s {
	case "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
		"loop", "namespace", "package", "return", "var", "void", "while":
		return true
	}
	return false
}

// IsReserved reports whether an expression cannot use a name for an item, because it has another meaning there or will have one in a
// later version of the language.
func IsReserved(s string) bool {
	switch s {
	case "parent", "variables", "lookups", "children", "observed", "each", "status", "self", "now", "finalizing",
		"cel", "math", "sets", "lists", "strings", "base64", "optional", "format",
		"bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "null_type", "string", "timestamp", "type", "uint":
		return true
	}
	return false
}

// OtherName proposes a name in the place of one that CEL or Kanon reserves.
func OtherName(name string) string {
	other := map[string]string{
		"namespace": "ns", "package": "pkg", "function": "fn", "import": "source", "type": "kind", "string": "text", "list": "items", "map": "entries",
		"int": "number", "uint": "number", "double": "number", "self": "item", "each": "item", "var": "item", "status": "state",
	}[name]
	if other == "" {
		other = "one" + strings.ToUpper(name[:1]) + name[1:]
	}
	return other
}

// CamelCase proposes an identifier for a text, such as webServer for web-server. It is empty if the text has no letter to begin with.
func CamelCase(s string) string {
	words := strings.FieldsFunc(s, isBetweenNames)
	for i, word := range words {
		if i > 0 {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	if name := strings.Join(words, ""); IsIdentifier(name) {
		return name
	}
	return ""
}

// IsPathSegment returns what is wrong with the name of an object of any kind. Most kinds have a stricter rule.
func IsPathSegment(name string) []string { return content.IsPathSegmentName(name) }

// NamesOfKind returns what the API server asks of the names of a kind, as a function that returns what is wrong with a name. Most kinds, and
// all custom ones, have DNS subdomains: at most 253 lower case letters, digits, - and dots.
func NamesOfKind(kind schema.GroupKind) func(name string) []string {
	switch {
	case kind == schema.GroupKind{Kind: "Service"}, kind == schema.GroupKind{Kind: "Namespace"}:
		return validation.IsDNS1123Label
	case kind.Group == "rbac.authorization.k8s.io":
		return IsPathSegment
	}
	return validation.IsDNS1123Subdomain
}

const (
	// MaxConditionReason is the limit of metav1.Condition for a reason, in bytes.
	MaxConditionReason = 1024
	// MaxEventReason is the limit of the API server for the reason of an Event, in bytes.
	MaxEventReason = 128
)

// validReason is what metav1.Condition allows.
var validReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// WrongReason says what is wrong with a reason that may have so many bytes. It is empty for a valid one.
func WrongReason(s string, longest int) string {
	switch {
	case len(s) > longest:
		return fmt.Sprintf("must have at most %d characters", longest)
	case !validReason.MatchString(s):
		return "must be one word of letters, digits and _ that begins with a letter"
	}
	return ""
}
