package apply

import (
	"hash/maphash"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/apply/fieldset"
)

// compact is obj as package watch reads one: with the paths in its managedFields as text. obj stays as it is, and everything
// else is shared with it.
func compact(obj *unstructured.Unstructured) *unstructured.Unstructured {
	entries := fieldset.EntriesOf(obj)
	items := make([]any, 0, len(entries))
	changed := false
	for _, e := range entries {
		text, err := e.Text()
		if _, done := e.Raw["fieldsV1"].(string); done || err != nil || e.Raw["fieldsV1"] == nil {
			items = append(items, e.Raw)
			continue
		}
		item := maps.Clone(e.Raw)
		item["fieldsV1"] = text
		items, changed = append(items, item), true
	}
	if !changed {
		return obj
	}
	metadata, _ := obj.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	metadata["managedFields"] = items
	content := maps.Clone(obj.Object)
	content["metadata"] = metadata
	return &unstructured.Unstructured{Object: content}
}

// TestCompact holds that entries of managedFields say the same in both forms.
func TestCompact(t *testing.T) {
	const fields = `{"f:spec": {"f:replicas": {}, "f:list": {"k:{\"name\":\"<a>\"}": {".": {}}}}}`
	whole := applytest.WithManaged(object(t, "{apiVersion: test/v1, kind: Thing, metadata: {name: a, uid: u}, spec: {replicas: 1}}"),
		applytest.Managed(t, fieldset.Manager, "Update", "test/v1", fields), applytest.Managed(t, "other", "Apply", "test/v1", "{}"), map[string]any{"manager": "bare"})
	before := whole.DeepCopy()

	shorter := compact(whole)
	if diff := cmp.Diff(before, whole); diff != "" {
		t.Errorf("the object was changed (-before +after)\n%s", diff)
	}
	if compact(shorter) != shorter {
		t.Error("a compact object is made compact again")
	}
	want, got := fieldset.EntriesOf(whole), fieldset.EntriesOf(shorter)
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d", len(got), len(want))
	}
	for i := range want {
		wantSet, wantErr := want[i].Fields()
		gotSet, gotErr := got[i].Fields()
		if (wantErr == nil) != (gotErr == nil) || (wantErr == nil && !gotSet.Equals(wantSet)) || got[i].Manager != want[i].Manager {
			t.Errorf("entry %d: %v, %v, want %v, %v", i, gotSet, gotErr, wantSet, wantErr)
		}
		wantText, err := fieldset.MarshalText(want[i].Item())
		if err != nil {
			t.Fatal(err)
		}
		if gotText, err := fieldset.MarshalText(got[i].Item()); err != nil || gotText != wantText {
			t.Errorf("entry %d is sent as %s, want %s", i, gotText, wantText)
		}
	}
	h := fieldset.Hasher{Seed: maphash.MakeSeed()}
	wantHash, _ := h.Entries(fieldset.OwnEntries(whole))
	if gotHash, err := h.Entries(fieldset.OwnEntries(shorter)); err != nil || gotHash != wantHash || wantHash == 0 {
		t.Errorf("the hash is %d (%v), want %d", gotHash, err, wantHash)
	}
	if !fieldset.SameEntries(fieldset.OwnEntries(whole), fieldset.OwnEntries(shorter)) {
		t.Error("what the entries say differs")
	}
}
