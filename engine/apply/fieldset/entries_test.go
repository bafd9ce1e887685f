package fieldset

import (
	"fmt"
	"strings"
	"testing"
)

// TestDecodedEntries holds that an entry is decoded once, and that the cache stays small.
func TestDecodedEntries(t *testing.T) {
	t.Parallel()
	entry := func(text string) Entry { return Entry{Manager: "somebody", Raw: map[string]any{"fieldsV1": text}} }
	var cache decodedEntries
	first, err := cache.fieldsOf(entry(`{"f:data":{"f:a":{}}}`))
	if err != nil || first.Size() != 1 {
		t.Fatalf("decoded as %v, %v", first, err)
	}
	if again, err := cache.fieldsOf(entry(strings.Clone(`{"f:data":{"f:a":{}}}`))); err != nil || again != first {
		t.Errorf("decoded again as %v, %v", again, err)
	}
	for i := range 3 * maxDecoded {
		if _, err := cache.fieldsOf(entry(fmt.Sprintf(`{"f:data":{"f:%d":{}}}`, i))); err != nil || len(cache.entries) > maxDecoded {
			t.Fatalf("entry %d: %d entries are cached, %v", i, len(cache.entries), err)
		}
	}
	owner := `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}}`
	if fields, err := cache.fieldsOf(entry(owner)); err != nil || fields.Size() != 1 || cache.entries[owner] != nil {
		t.Errorf("an entry with an owner is decoded as %v, %v, or cached", fields, err)
	}
	long := fmt.Sprintf(`{"f:data":{"f:%s":{}}}`, strings.Repeat("x", maxDecodedText))
	if fields, err := cache.fieldsOf(entry(long)); err != nil || fields.Size() != 1 || cache.entries[long] != nil {
		t.Errorf("a long entry is decoded as %v, %v, or cached", fields, err)
	}
	if _, err := cache.fieldsOf(entry(`{"f:`)); err == nil || cache.entries[`{"f:`] != nil {
		t.Errorf("a broken entry is decoded, or cached: %v", err)
	}
}
