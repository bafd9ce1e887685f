package syntax

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
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

// IgnorePath is one item of a child's ignore: the path of a field that Kanon sets when it creates the object, and leaves to others
// from then on.
//
// Its text is a name, followed by any number of .name, [key] and [name=value,…]:
//
//	spec.replicas
//	metadata.annotations[a.b/c]
//	spec.template.spec.containers[name=web].image
//
// Names consist of letters, digits, _, - and $. Brackets have the key of a map, or the fields that identify an item of a list.
// In quotes, as in JSON, both can have any character, and ["…"] is always a key. Everything below the path is ignored as well.
type IgnorePath []IgnoreStep

// IgnoreStep is one step of a Path.
type IgnoreStep struct {
	// Field is the name of a field, or the key of a map. It is empty if there are Keys.
	Field string
	// Keys identify items of a list by the text of some of their fields.
	Keys map[string]string
}

// String is the path as a rule writes it.
func (p IgnorePath) String() string {
	var b strings.Builder
	for i, step := range p {
		switch {
		case step.Keys != nil:
			var pairs []string
			for _, name := range slices.Sorted(maps.Keys(step.Keys)) {
				pairs = append(pairs, name+"="+bracketText(step.Keys[name], `,]"`))
			}
			b.WriteString("[" + strings.Join(pairs, ",") + "]")
		case !yamltree.IsPathName(step.Field):
			b.WriteString("[" + bracketText(step.Field, `=,]"*`) + "]")
		case i > 0:
			b.WriteString("." + step.Field)
		default:
			b.WriteString(step.Field)
		}
	}
	return b.String()
}

// Equal reports whether two paths are the same.
func (p IgnorePath) Equal(other IgnorePath) bool {
	return slices.EqualFunc(p, other, func(a, b IgnoreStep) bool { return a.Field == b.Field && maps.Equal(a.Keys, b.Keys) })
}

// bracketText is text for brackets, in quotes if it has a special character.
func bracketText(text, special string) string {
	if text == "" || strings.ContainsAny(text, special) || isDigits(text) {
		encoded, err := json.Marshal(text)
		if err == nil {
			return string(encoded)
		}
	}
	return text
}

// ParsedIgnore is a Path and the offset of each step in its text.
type ParsedIgnore struct {
	Steps IgnorePath
	At    []int
}

// IgnoreError is a mistake in the text of a path.
type IgnoreError struct {
	Offset        int
	Message, Hint string
	// Meant is the whole path as it was probably meant; empty if that is not known.
	Meant string
}

// The steps of a path: a name, a key in quotes, what identifies an item, or a key.
var (
	ignoreName  = regexp.MustCompile(`^\.?([\w$-]+)`)
	ignoreQuote = regexp.MustCompile(`^\[("(?:[^"\\]|\\.)*")\]`)
	ignoreItem  = regexp.MustCompile(`^\[([\w$-]+=(?:"(?:[^"\\]|\\.)*"|[^",\]][^,\]]*)(?:,[\w$-]+=(?:"(?:[^"\\]|\\.)*"|[^",\]][^,\]]*))*)\]`)
	ignoreKey   = regexp.MustCompile(`^\[([^\]=,"*]*[^\]=,"*\d][^\]=,"*]*)\]`)
	ignorePair  = regexp.MustCompile(`([\w$-]+)=("(?:[^"\\]|\\.)*"|[^,]*)`)
)

// ParseIgnore parses the text of a path.
func ParseIgnore(text string) (ParsedIgnore, *IgnoreError) {
	var out ParsedIgnore
	for at := 0; at < len(text) || at == 0; {
		rest := text[at:]
		step, length := nextIgnore(rest)
		if length == 0 || (rest[0] == '.' || rest[0] == '[') == (at == 0) {
			return ParsedIgnore{}, wrongIgnore(text, at)
		}
		out.Steps, out.At = append(out.Steps, step), append(out.At, at+len(rest)-len(strings.TrimPrefix(rest, ".")))
		at += length
	}
	return out, nil
}

// nextIgnore parses the first step of a text, and returns its length; 0 if it is no step.
func nextIgnore(text string) (step IgnoreStep, length int) {
	if m := ignoreName.FindStringSubmatch(text); m != nil {
		return IgnoreStep{Field: m[1]}, len(m[0])
	}
	if m := ignoreQuote.FindStringSubmatch(text); m != nil {
		key, ok := unquoted(m[1])
		if !ok {
			return step, 0
		}
		return IgnoreStep{Field: key}, len(m[0])
	}
	if m := ignoreItem.FindStringSubmatch(text); m != nil {
		keys := map[string]string{}
		for _, pair := range ignorePair.FindAllStringSubmatch(m[1], -1) {
			value, ok := unquoted(pair[2])
			if _, twice := keys[pair[1]]; twice || !ok {
				return step, 0
			}
			keys[pair[1]] = value
		}
		return IgnoreStep{Keys: keys}, len(m[0])
	}
	if m := ignoreKey.FindStringSubmatch(text); m != nil {
		return IgnoreStep{Field: m[1]}, len(m[0])
	}
	return step, 0
}

// unquoted is text that may be in quotes, as in JSON.
func unquoted(text string) (value string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return text, true
	}
	err := json.Unmarshal([]byte(text), &value)
	return value, err == nil
}

// wrongIgnore is the mistake in the step of a path that begins at a byte.
func wrongIgnore(text string, at int) *IgnoreError {
	fail := func(offset int, hint, format string, args ...any) *IgnoreError {
		return &IgnoreError{Offset: at + offset, Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	meant := func(text, message string) *IgnoreError {
		return &IgnoreError{Message: message, Hint: fmt.Sprintf("write %q", text), Meant: text}
	}
	rest := text[at:]
	inside, _, _ := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	switch isBracket := strings.HasPrefix(rest, "["); {
	case at == 0 && strings.HasPrefix(rest, "/"):
		return meant(strings.ReplaceAll(text[1:], "/", "."), "a path is written with dots")
	case at == 0 && strings.HasPrefix(rest, "."):
		return meant(text[1:], "a path begins with the name of a field")
	case at == 0 && isBracket:
		return fail(0, "write metadata.labels[app], for example", "a path begins with the name of a field")
	case isBracket && isDigits(inside):
		return fail(1, fmt.Sprintf("write [name=…] for an item, or [%q] for a key", inside),
			"the items of a list are named by the fields that identify them, not by their position")
	case isBracket && strings.Contains(inside, "*") && !strings.Contains(inside, `"`):
		return fail(1, "name the item, as in [name=web], or ignore the list as a whole", "a path names one field; there is no * in it")
	case isBracket:
		return fail(0, `write [name=web] for the item of a list, or [a.b/c] for the key of a map, in quotes if it has other characters`,
			"these brackets have neither a key nor what identifies an item")
	case strings.HasPrefix(rest, "."):
		return fail(1, "", "a name is missing after the dot")
	default:
		return fail(0, "put a key that has such characters in brackets, as in metadata.annotations[a.b/c]", "there is %q where a name, a dot or a bracket must be", string([]rune(rest)[:1]))
	}
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
