package yamltree

import (
	"strings"
	"testing"
)

// TestWithin searches for a mark in scalars of every style. Its position must be that of the
// mark in the text.
func TestWithin(t *testing.T) {
	t.Parallel()
	const mark = "@@"
	for name, text := range map[string]string{
		"plain":                    "a: one @@ two",
		"plain in flow":            "{a: [x, one @@ two]}",
		"plain on two lines":       "a: one\n  two @@ three",
		"plain with empty lines":   "a: one\n\n\n  two @@ three\n  four",
		"mark at the fold":         "a: one\n  @@ two",
		"single quotes":            "a: 'one @@ two'",
		"single, doubled":          "a: 'it''s ''so'' @@'",
		"single on two lines":      "a: 'one\n\n   two '' @@'",
		"double quotes":            `a: "one @@ two"`,
		"double, escapes":          `a: "\t\"\\ \x41 \u00e9 \U0001F600 \N \_ \L \P \e @@"`,
		"double on two lines":      "a: \"one \\t\n\n    two @@\"",
		"double, escaped line end": "a: \"one \\\n    \\ two @@\"",
		"unicode":                  "ä: é – @@ x",
		"literal":                  "a: |\n  one\n   two @@\n",
		"literal, first line":      "a: |\n  @@ one\n",
		"literal, blank lines":     "a: |\n\n  one\n\n    two\n  @@\n",
		"literal, indicator":       "a: |2\n    one\n  @@ two\n",
		"literal, strip":           "a: |-\n      one @@\n",
		"literal, keep":            "a: |+\n  one\n  @@\n\n",
		"folded":                   "a: >\n  one\n  two @@ three\n",
		"folded, paragraphs":       "a: >-\n  one\n  two\n\n  three\n  four @@\n",
		"folded, more indented":    "a: >\n  one\n    two @@\n  three\n",
		"folded, same words":       "a: >\n  one\n  one\n  one @@\n",
		"anchor":                   "a: &x \"one @@\"",
		"tag":                      "a: !!str one @@",
		"tag and anchor":           "a: !!str &x 'one @@'",
		"key":                      "{\"x @@ y\": 1}",
		"in a list":                "- - a: 'x @@'",
		"comment lines":            "# c\na: 1 # @ @\nb: one @@ # x",
		"carriage returns":         "a: |\r\n  one\r\n  two @@\r\n",
		"second document":          "---\na: 1\n---\nb: [x,\n  \"y @@\"]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := New("f", []byte(text))
			found := 0
			for _, doc := range src.Documents() {
				nodes, finding := src.Parse(doc)
				if finding != nil {
					t.Fatal(finding)
				}
				for len(nodes) > 0 {
					n := nodes[0]
					nodes = append(nodes[1:], n.Content...)
					at := strings.Index(n.Value, mark)
					if at < 0 {
						continue
					}
					found++
					pos := src.within(n, at)
					line := []rune(src.lines[pos.Line-1])
					if rest := string(line[pos.Column-1:]); !strings.HasPrefix(rest, mark) {
						t.Errorf("%v, which is before %q", pos, rest)
					}
				}
			}
			if found != 1 {
				t.Errorf("found %d marks", found)
			}
		})
	}
}

// A text that is no YAML has its positions as they are, whatever YAML would make of it.
func TestWithinText(t *testing.T) {
	t.Parallel()
	const mark = "@@"
	for _, text := range []string{"@@", "a: @@", "'é' @@", "one\n   two @@\nthree", "- x\n@@"} {
		source, node := NewText("asked", text)
		got := source.Within(node, strings.Index(text, mark))
		before := text[:strings.Index(text, mark)]
		line := 1 + strings.Count(before, "\n")
		column := 1 + len([]rune(before[strings.LastIndex(before, "\n")+1:]))
		if got.File != "asked" || got.Line != line || got.Column != column {
			t.Errorf("%q: %v, want line %d, column %d", text, got, line, column)
		}
		if value, ok := node.Text(); !ok || value != text || !strings.Contains(source.LineAt(got), mark) {
			t.Errorf("%q: the value is %q, and the line %q", text, value, source.LineAt(got))
		}
	}
}
