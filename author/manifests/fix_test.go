package manifests_test

import (
	"strings"
	"testing"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/rules/diagnostic"
)

// checkWords finds words that have another one to be replaced by, and what is not YAML.
func checkWords(words map[string]string) func([]manifests.File) (*manifests.Checked, error) {
	return func(files []manifests.File) (*manifests.Checked, error) {
		checked := &manifests.Checked{}
		for _, file := range files {
			text := string(file.Data)
			for word, by := range words {
				if at := strings.Index(text, word); at >= 0 {
					pos := diagnostic.Position{File: file.Name, Line: 1, Column: at + 1}
					checked.Findings = append(checked.Findings, *diagnostic.New(pos, diagnostic.CodeUnknownName, "%s", word).WithEdit(pos, word, by))
				}
			}
			if strings.Contains(text, "{") {
				checked.Findings = append(checked.Findings, *diagnostic.New(diagnostic.Position{File: file.Name, Line: 1, Column: 1}, diagnostic.CodeNotYAML, "broken"))
			}
		}
		return checked, nil
	}
}

func TestFix(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words      map[string]string
		want, left string
		done       int
	}{
		"nothing to do":             {want: "a b", left: ""},
		"one":                       {words: map[string]string{"a": "x"}, want: "x b", done: 1},
		"one that shows another":    {words: map[string]string{"a": "c", "c": "x"}, want: "a b", left: "a"},
		"a wrong one beside others": {words: map[string]string{"a": "{", "b": "x"}, want: "a x", left: "a", done: 1},
		"one that breaks the file":  {words: map[string]string{"a": "{"}, want: "a b", left: "a"},
		"two without end":           {words: map[string]string{"a": "c", "c": "a"}, want: "a b", left: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := []manifests.File{{Name: "other", Data: []byte("-")}, {Name: "file", Data: []byte("a b")}}
			fixed, err := manifests.Fix(before, checkWords(c.words))
			if err != nil {
				t.Fatal(err)
			}
			left := ""
			for _, f := range fixed.Left.Findings {
				left += f.Message
			}
			if got := string(fixed.Files[1].Data); got != c.want || left != c.left || len(fixed.Done) != c.done {
				t.Errorf("%q, left %q, %d done; want %q, %q, %d", got, left, len(fixed.Done), c.want, c.left, c.done)
			}
			changed, was := fixed.Changed(before)
			if isChanged := c.want != "a b"; isChanged != (len(changed) == 1) || isChanged && (changed[0].Name != "file" || string(was[0]) != "a b") {
				t.Errorf("changed are %v", changed)
			}
		})
	}
}
