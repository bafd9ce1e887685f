package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine"
)

// A parent to which something happens does not wait for all those of its rule, which are
// looked at again because the rule has changed.
func TestNewParentBesideAChangeOfItsRule(t *testing.T) {
	t.Parallel()
	const others = 30
	w := newWorld(t, "Note")
	w.rule("note", note("first"))
	g := w.gate(types.PatchType(runtime.ContentTypeJSON), "")
	w.run(func(o *engine.Options) { o.Workers, o.Client = 1, g.client })
	for i := range others {
		w.parent("Note", fmt.Sprintf("n%d", i), "{}")
	}
	w.awaitAllReady()

	from := w.requests.count()
	g.shut()
	w.rule("note", note("second"))
	g.await()
	w.parent("Note", "late", "{}")
	g.open()
	for i := range others {
		w.await(configMaps, w.home, fmt.Sprintf("n%d", i), "follows the rule", has("second", "data", "text"))
	}
	w.await(configMaps, w.home, "late", "is made", exists)
	requests := w.requests.since(from)
	made := slices.Index(requests, "POST /api/v1/namespaces/"+w.home+"/configmaps")
	before := 0
	for _, request := range requests[:max(0, made)] {
		if strings.HasPrefix(request, "PUT /api/v1/namespaces/"+w.home+"/configmaps/") {
			before++
		}
	}
	if made < 0 || before > others/2 {
		t.Errorf("%d of %d children were changed before the child of the new parent was made", before, others)
	}
}
