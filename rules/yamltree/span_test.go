package yamltree_test

import (
	"strings"
	"testing"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// A scalar spans what the document has of it, and nothing else does.
func TestSpans(t *testing.T) {
	t.Parallel()
	const text = `plain: a word   # comment
"quoted": "it \"is\" a\tword"
single: 'it''s'
wide: "日本"
block: |
  text
folded:
  lines: [one, &x two, {key: v}]
`
	source := yamltree.New("a.yaml", []byte(text))
	if _, finding := source.Parse(source.Documents()[0]); finding != nil {
		t.Fatal(finding)
	}
	for want, at := range map[string]string{
		"plain": "plain", "a word": "a word", `"quoted"`: `"quoted`, `"it \"is\" a\tword"`: `"it`, "'it''s'": "'it", `"日本"`: `"日`,
		"one": "one", "&x two": "&x", "key": "key:", "v": "v}", "": "|", "lines": "",
	} {
		for number, line := range strings.Split(text, "\n") {
			column := strings.Index(line, at)
			if column < 0 || at == "" {
				continue
			}
			p := diagnostic.Position{File: "a.yaml", Line: number + 1, Column: len([]rune(line[:column])) + 1}
			if got := source.SpanAt(p); got != len([]rune(want)) {
				t.Errorf("%v: %d characters, want those of %s", p, got, want)
			}
			break
		}
	}
}

// The spans of a text in a value are those in the file.
func TestInnerSpans(t *testing.T) {
	t.Parallel()
	outer := yamltree.New("a.yaml", []byte("data:\n  rule.yaml: |\n    spec: {staus: 1}\n"))
	nodes, _ := outer.Parse(outer.Documents()[0])
	var findings diagnostic.List
	inner := outer.Inner(outer.Build(nodes[0], &findings).Get("data").Get("rule.yaml"))
	if _, finding := inner.Parse(inner.Documents()[0]); finding != nil {
		t.Fatal(finding)
	}
	if got := outer.SpanAt(diagnostic.Position{File: "a.yaml", Line: 3, Column: 12}); got != len("staus") {
		t.Errorf("%d characters", got)
	}
}
