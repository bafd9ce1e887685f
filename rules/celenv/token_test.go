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
