package fieldset

import (
	"hash/maphash"
	"math"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestHash holds that what differs in JSON has different hashes, and that the order of keys makes none.
func TestHash(t *testing.T) {
	h := Hasher{Seed: maphash.MakeSeed()}
	values := []any{
		nil, true, false, "", "1", int64(1), 1.5, "a", "b",
		[]any{},
		map[string]any{},
		[]any{nil},
		[]any{"a", "b"},
		[]any{"b", "a"},
		[]any{[]any{"a"}, "b"},
		[]any{[]any{"a", "b"}},
		map[string]any{"a": "b"},
		map[string]any{"b": "a"},
		map[string]any{"a": nil},
		map[string]any{"a": "b", "c": "d"},
		map[string]any{"a": "d", "c": "b"},
		map[string]any{"a": map[string]any{"b": "c"}},
	}
	seen := map[uint64]any{}
	for _, v := range values {
		sum := h.Value(v)
		if other, ok := seen[sum]; ok {
			t.Errorf("%#v and %#v have one hash", v, other)
		}
		seen[sum] = v
	}
	many := map[string]any{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		many[name] = metav1.NamespaceDefault + name
	}
	want := h.Value(many)
	for range 20 { // a map is walked in another order each time
		if h.Value(many) != want {
			t.Fatal("the order of the keys shows in the hash")
		}
	}
}

// TestDigest holds that a digest depends on its value alone, and not on what was digested before it.
func TestDigest(t *testing.T) {
	short, long := map[string]any{"a": "b"}, map[string]any{"a": strings.Repeat("b", 10<<10)}
	digest := func(v any) string {
		t.Helper()
		text, err := Digest(v)
		if err != nil || len(text) != 22 {
			t.Fatalf("Digest = %q, %v", text, err)
		}
		return text
	}
	before := digest(short)
	if digest(long) == before {
		t.Error("two values have one digest")
	}
	if _, err := Digest(map[string]any{"a": math.NaN()}); err == nil {
		t.Error("a value without JSON has a digest")
	}
	if after := digest(short); after != before {
		t.Errorf("the digest changed from %s to %s", before, after)
	}
}
