package yamltree

import (
	"strings"
	"testing"
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
