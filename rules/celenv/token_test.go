package celenv_test

import (
	"strings"
	"testing"

	"kanon.dev/kanon/rules/celenv"
)

func TestTokenLength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"|parnt.spec": "parnt", "parent|.spec.x": ".spec", "parent|.?spec": ".?spec", "a|.`b-c`.d": ".`b-c`", "|a b": "a", "a |== b": "==", "a |+ b": "+",
		"1 |<= 2": "<=", "|12.5 + 1": "12.5", "|1.size()": "1", `|"a\"b" + c`: `"a\"b"`, "|'it' + c": "'it'", `a["|b-c"].d`: "b-c", "a.`|b-c`": "b-c",
		`"a" + |b`: "b", "a|": "", "size|(x)": "(", "|": "", "f('|": "", "|é": "é",
		"a|[0].b": "[0]", "a|['b'] + c": "['b']", "a()|[i + 1]": "[i + 1]", "a|[b[0]]": "[", "|[1, 2]": "[", "a + |[1]": "[",
	} {
		before, after, _ := strings.Cut(text, "|")
		length := celenv.TokenLength(before+after, len(before))
		if got := (before + after)[len(before):][:length]; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := celenv.TokenLength("a", -1); got != 0 {
		t.Errorf("before the text: %d", got)
	}
}

func TestTokenStart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"size|(x)": 0, "a + random|(3)": 4, "lists.range|(3)": 6, "|size(x)": 0, "a + |(b)": 4, "!|(a)": 1, "|(a)": 0, "a|": 1, "|": 0,
	} {
		before, after, _ := strings.Cut(text, "|")
		if got := celenv.TokenStart(before+after, len(before)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
