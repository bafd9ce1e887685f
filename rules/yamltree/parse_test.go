package yamltree

import (
	"strings"
	"testing"

	"kanon.dev/kanon/rules/diagnostic"
)

// A document that does not parse is parsed again only so often.
func TestProbesAreBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"broken at the end":  strings.Repeat("a: {b: \"${parent.c}\"}\n", 40000) + "x: [\n",
		"broken in one line": "a: " + strings.Repeat("[x, ", 250000),
		"broken documents":   strings.Repeat("---\na: [\n", 50000),
	} {
		src := New("f", []byte(text))
		found := 0
		for _, doc := range src.Documents() {
			if _, finding := src.Parse(doc); finding != nil {
				found++
			}
		}
		if found == 0 {
			t.Errorf("%s: nothing is found", name)
		}
		if most := maxProbed + 2*len(text); src.probed > most {
			t.Errorf("%s: %d bytes were parsed again, want %d at the most", name, src.probed, most)
		}
	}
}

// Text that is written without the quotes that it needs gets the advice to put them.
func TestHintsOfUnquotedText(t *testing.T) {
	t.Parallel()
	const whole = "put quotes around the whole value: YAML takes it to end where what it begins with, a quote or a bracket, is closed"
	for text, want := range map[string]string{
		`- "a" == b`:                whole,
		`- 'a' in b`:                whole,
		`that: "a" != b`:            whole,
		`- that: "a" + b`:           whole,
		`- {"a": 1} == b`:           whole,
		`- [1, 2].all(x, x > 0)`:    whole,
		`- !has(b)`:                 "put quotes around a value that begins with !",
		`- b == {"a": "c"}`:         QuoteColon,
		`- f({"a": "c"}).d("e: f")`: QuoteColon,
		`b: c == {"a": "c"}`:        QuoteColon,
		`b: {c: d, e: [}`:           "",
		`- "a" b`:                   "",
		`- {a: b} }`:                "",
		`- {a: "${x}"} == b`:        whole,
		`a: ${x ? {"a": 1} : "b"} `: "put quotes around the value that contains ${…}, or write it on the lines below >-",
	} {
		src := New("f", []byte("- c\n"+text+"\n- d\n"))
		if !strings.HasPrefix(text, "- ") {
			src = New("f", []byte("c: d\n"+text+"\ne: f\n"))
		}
		var list diagnostic.List
		nodes, finding := src.Parse(src.Documents()[0])
		for _, n := range nodes {
			src.Build(n, &list)
		}
		if finding == nil {
			if findings := list.Findings(src); len(findings) > 0 {
				finding = &findings[0]
			}
		}
		if finding == nil {
			t.Errorf("%s: nothing is found", text)
		} else if finding.Hint != want {
			t.Errorf("%s: %s: the hint is %q, want %q", text, finding.Message, finding.Hint, want)
		}
	}
}
