package statuswriter

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/apply/server"
)

// TestSettledStatus holds that a verdict on a status counts for what it was given on, and for nothing else.
func TestSettledStatus(t *testing.T) {
	t.Parallel()
	const manager = "kanon-status-x"
	said := func(value, paths string) Status {
		live := applytest.WithManaged(
			applytest.Object(t, `{apiVersion: test/v1, kind: Thing, metadata: {name: a, namespace: n}, status: {url: `+value+`}}`),
			applytest.Managed(t, manager, "Apply", "test/v1", paths))
		return Status{Object: live, Manager: manager, Content: map[string]any{"url": "here"}}
	}
	const held = `{"f:status": {"f:url": {}}}`
	w := New(server.New(nil, fakeSchemas{applytest.Converter(t, applytest.Schemas)}, applytest.NoStatus))
	inSync := func(s Status) bool {
		t.Helper()
		is, err := w.IsInPlace(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	for range 2 {
		if !inSync(said("here", held)) {
			t.Fatal("a status that is in place is not in sync")
		}
	}
	kind, err := w.server.Kind(t.Context(), said("here", held).Object.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	if source, ok := w.sourceOf(kind, said("here", held)); !ok || !w.settled.has(source) {
		t.Error("the verdict is not remembered")
	}

	other := said("here", held)
	other.Content = map[string]any{"url": "there"}
	through := said("here", held)
	through.Subresource = true
	foreign := said("here", held)
	foreign.Manager = "kanon-status-y"
	for name, s := range map[string]Status{
		"another value":       said("there", held),
		"another content":     other,
		"paths taken by":      said("here", `{"f:status": {}}`),
		"paths left of":       said("here", `{"f:status": {"f:url": {}, "f:more": {}}}`),
		"another subresource": through,
		"another manager":     foreign,
	} {
		if inSync(s) {
			t.Errorf("%s: in sync", name)
		}
		if !inSync(said("here", held)) {
			t.Errorf("%s: what was in sync is not any more", name)
		}
	}
	w.server = server.New(nil, fakeSchemas{applytest.Converter(t, applytest.Schemas)}, applytest.NoStatus)
	if kind, err = w.server.Kind(t.Context(), said("here", held).Object.GroupVersionKind()); err != nil {
		t.Fatal(err)
	}
	if source, ok := w.sourceOf(kind, said("here", held)); !ok || w.settled.has(source) {
		t.Error("a verdict counts for another schema")
	}
}

// fakeSchemas has one converter for all kinds.
type fakeSchemas struct{ known managedfields.TypeConverter }

func (f fakeSchemas) Converter(context.Context, schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	return f.known, nil
}

func (fakeSchemas) Recheck(context.Context, schema.GroupVersion) (bool, error) { return false, nil }
