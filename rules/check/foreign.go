package check

import (
	"regexp"
	"strings"
	"unicode"
)

// expansion is what ${…} has in a shell beside a name: ${#a[@]}, ${f%%.*}, ${x:-default}.
var expansion = regexp.MustCompile(`^(#\w|\w+(\[[@*]\]$|:[-=?+\d]|#|%[%.*]|//|\^|,,))`)

// quoted is a string in an expression.
var quoted = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)

// foreignSyntax says what to write instead of the syntax of another language in an expression that does not parse; empty if
// there is none that is known.
func foreignSyntax(text string) string {
	text = quoted.ReplaceAllString(text, "''")
	for _, f := range []struct{ pattern, hint string }{
		{`=>|->`, "a function over a list takes a name for the items and an expression, as in list.filter(x, x > 1)"},
		{`[=!]==`, "write == or !="},
		{`\w\?\.\w`, "write .? before a field that may be missing, as in parent.spec.?x.orValue(1)"},
		{`\.\.\.`, "lists are joined with +, as in parent.spec.list + ['x']"},
		{`\[.*\bfor\b.*\bin\b`, "write list.map(x, …) or list.filter(x, …), with a name for the items"},
		{`\bif\b.*\belse\b`, "write condition ? value : other"},
		{`\bnot\s+[\w(]`, "write ! for not"},
		{`\bis\s+\w`, "write == to compare, and has(…) to ask whether a field exists"},
		{`\bnew\s+Date\b`, "write now for the time"},
		{`[^|]\|\s*default\b`, "write .? before the field that may be missing, and orValue(…) behind it, as in parent.spec.?x.orValue(1)"},
		{`\w\(\w+\s*=[^=]`, "arguments have no names; a map is written with braces, as in {'key': value}"},
		{`\*\*`, "write a * a"},
		{`^\{[^:]*\}?$`, "write ${…} with one pair of braces"},
		{"`.*\\$", "write text + value, or ${…} within a text outside of the expression"},
		{`\bf''`, "write text + value, or ${…} within a text outside of the expression"},
		{`\[\d*:\d*\]`, "write list.slice(start, end), or text.substring(start, end)"},
	} {
		if regexp.MustCompile(f.pattern).MatchString(text) {
			return f.hint
		}
	}
	return ""
}

// foreignCharacter says what a character is that no expression has outside of quotes, and what to write instead of it; empty
// for one of ASCII.
func foreignCharacter(r rune) (what, hint string) {
	switch {
	case strings.ContainsRune("“”„«»", r):
		return "a typographic quote", `write "`
	case strings.ContainsRune("‘’‚‹›", r):
		return "a typographic quote", "write '"
	case r == '–', r == '—', r == '−':
		return "a dash", "write -"
	case r == '…':
		return "one character", "write the text that it stands for"
	case r == '≤', r == '≥', r == '≠':
		return "one character", "write <=, >= or !="
	case r == '\u00a0', r == '\u202f', r == '\u3000':
		return "a space that is none of ASCII", "write a space"
	case unicode.In(r, unicode.Cf):
		return "a character that is not seen", "leave it out"
	case r < unicode.MaxASCII:
		return "", ""
	}
	return "a character outside of quotes", `write it in quotes, as in "` + string(r) + `"`
}
