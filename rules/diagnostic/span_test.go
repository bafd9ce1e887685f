package diagnostic

import "testing"

func TestSpanOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text    string
		column  int
		message string
		want    int
	}{
		"a name":            {`  tempo: []`, 3, `unknown field "tempo" in spec`, 5},
		"the first name":    {`  b: a`, 3, `"b" and "a" differ`, 1},
		"in quotes":         {`  - "web": 1`, 5, `two are called "web"`, 5},
		"in single quotes":  {`  - 'web'`, 5, `two are called "web"`, 5},
		"with an escape":    {`a\b`, 1, `unknown "a\\b"`, 3},
		"wide characters":   {`日本: 日本`, 5, `unknown "日本"`, 2},
		"a part of a word":  {`tempora: []`, 1, `unknown field "tempo"`, 0},
		"another name":      {`tempo: []`, 1, `unknown field "x"`, 0},
		"no name":           {`tempo: []`, 1, "wrong", 0},
		"an open quote":     {`tempo: []`, 1, `wrong "tempo`, 0},
		"an empty name":     {`tempo: []`, 1, `wrong ""`, 0},
		"behind the end":    {`a`, 3, `wrong "a"`, 0},
		"an unknown column": {``, 0, `wrong "a"`, 0},
		"a sign and a name": {`a+b`, 2, `wrong "+"`, 1},
		"not UTF-8":         {"\xff\xff", 2, `wrong "a"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := spanOf(test.text, test.column, test.message); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
