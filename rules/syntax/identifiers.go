package syntax

import (
	"strings"
	"unicode"

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
