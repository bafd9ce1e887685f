package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompact holds that the compact form says the same, shares what it can and leaves the object alone.
func TestCompact(t *testing.T) {
	const fields = `{"f:spec": {"f:replicas": {}, "f:list": {"k:{\"name\":\"<a>\"}": {".": {}}}}}`
	whole := withManaged(object(t, "{apiVersion: test/v1, kind: Thing, metadata: {name: a, uid: u}, spec: {replicas: 1}}"),
		managed(t, Manager, "Update", "test/v1", fields), managed(t, "other", "Apply", "test/v1", "{}"), map[string]any{"manager": "bare"})
	before := whole.DeepCopy()

	compact := Compact(whole)
	if diff := cmp.Diff(before, whole); diff != "" {
		t.Errorf("the object was changed (-before +after)\n%s", diff)
	}
	if Compact(compact) != compact {
		t.Error("a compact object is made compact again")
	}
	want, got := entriesOf(whole), entriesOf(compact)
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d", len(got), len(want))
	}
	for i := range want {
		wantSet, wantErr := want[i].fields()
		gotSet, gotErr := got[i].fields()
		if (wantErr == nil) != (gotErr == nil) || (wantErr == nil && !gotSet.Equals(wantSet)) || got[i].manager != want[i].manager {
			t.Errorf("entry %d: %v, %v, want %v, %v", i, gotSet, gotErr, wantSet, wantErr)
		}
		wantText, err := marshalText(want[i].item())
		if err != nil {
			t.Fatal(err)
		}
		if gotText, err := marshalText(got[i].item()); err != nil || gotText != wantText {
			t.Errorf("entry %d is sent as %s, want %s", i, gotText, wantText)
		}
	}
	wantDigest, _ := entriesDigest(ownEntries(whole))
	if gotDigest, err := entriesDigest(ownEntries(compact)); err != nil || gotDigest != wantDigest {
		t.Errorf("the digest is %s (%v), want %s", gotDigest, err, wantDigest)
	}
}
