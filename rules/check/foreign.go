package check

import "regexp"

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
		{`\bif\b.*\belse\b`, "write condition ? value : other"},
		{`\bnot\s+[\w(]`, "write ! for not"},
		{`^\{\s*[\w.]+\s*\}?$`, "write ${…} with one pair of braces"},
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
