package check

import "regexp"

// expansion is what ${…} has in a shell beside a name: ${#a[@]}, ${f%%.*}, ${x:-default}.
var expansion = regexp.MustCompile(`^(#\w|\w+(\[[@*]\]$|:[-=?+\d]|#|%[%.*]|//|\^|,,))`)

// quoted is a string in an expression.
var quoted = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)

// foreign has the syntax of other languages, outside of strings, and what to write instead.
var foreign = []struct {
	pattern *regexp.Regexp
	hint    string
}{
	{regexp.MustCompile(`=>|->`), "a function over a list takes a name for the items and an expression, as in list.filter(x, x > 1)"},
	{regexp.MustCompile(`[=!]==`), "write == or !="},
	{regexp.MustCompile(`\w\?\.\w`), "write .? before a field that may be missing, as in parent.spec.?x.orValue(1)"},
	{regexp.MustCompile(`\.\.\.`), "lists are joined with +, as in parent.spec.list + ['x']"},
	{regexp.MustCompile(`\bif\b.*\belse\b`), "write condition ? value : other"},
	{regexp.MustCompile(`\bnot\s+[\w(]`), "write ! for not"},
	{regexp.MustCompile(`^\{\s*[\w.]+\s*\}?$`), "write ${…} with one pair of braces"},
	{regexp.MustCompile("`.*\\$"), "write text + value, or ${…} within a text outside of the expression"},
	{regexp.MustCompile(`\bf''`), "write text + value, or ${…} within a text outside of the expression"},
	{regexp.MustCompile(`\[\d*:\d*\]`), "write list.slice(start, end), or text.substring(start, end)"},
}

// foreignSyntax says what to write instead of the syntax of another language in an expression that does not parse; empty if
// there is none that is known.
func foreignSyntax(text string) string {
	text = quoted.ReplaceAllString(text, "''")
	for _, f := range foreign {
		if f.pattern.MatchString(text) {
			return f.hint
		}
	}
	return ""
}
