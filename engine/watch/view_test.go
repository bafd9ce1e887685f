package watch_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/watch"
)

// genuine has only objects with that annotation in view.
func genuine(o *watch.Options) {
	o.Tag = func(_ watch.Key, obj *watch.Object) (string, bool) {
		text, ok := obj.Head().GetAnnotations()["genuine"]
		return text, ok
	}
}

// TestObjectsThatAreNotInView holds that an object that Options.Tag refuses is treated as though it did not exist, whether it
// was listed, watched or written, and that one which becomes or ceases to be what it seems comes and goes.
func TestObjectsThatAreNotInView(t *testing.T) {
	f := newFixture(t, genuine)
	labels := map[string]string{"rule": "r", "parent": "p"}
	annotate := func(annotations map[string]string) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) { obj.SetAnnotations(annotations) }
	}
	listed := f.create(t, "one", labels)
	key := f.key("rule")
	f.monitors.Watch("owner", key)
	f.events.synced(t)
	unseen := func(step string) {
		t.Helper()
		if _, ok := f.monitors.Get(key, f.namespace, "one"); ok {
			t.Errorf("%s: it can be read", step)
		}
		if head := f.monitors.Known(key, f.namespace, "one").Head(); head != nil {
			t.Errorf("%s: it is known as %v", step, head)
		}
		for what, found := range map[string]int{
			"listed": len(f.monitors.List(key)), "unread": len(f.monitors.Unread(key)), "heads": len(f.monitors.Heads(key)),
			"in an index": len(f.monitors.ByIndex(key, watch.ByParent, "r/p")),
		} {
			if found != 0 {
				t.Errorf("%s: %d objects are %s", step, found, what)
			}
		}
	}
	unseen("listed")
	f.monitors.Observe(key, listed)
	unseen("observed")

	f.updateOne(t, annotate(map[string]string{"genuine": "tag"}))
	f.events.want(t, "added one")
	if objects := f.monitors.Unread(key); len(objects) != 1 || objects[0].Tag() != "tag" {
		t.Errorf("once it is what it seems, there are %v", objects)
	}
	f.updateOne(t, annotate(nil))
	f.events.want(t, "gone one")
	unseen("no longer genuine")
	f.create(t, "two", labels)
	f.updateOne(t, annotate(map[string]string{"genuine": "again"}))
	f.events.want(t, "added one") // and nothing of the other one
}

// TestFloodOfObjectsThatAreNotInView holds that the content of such objects is not kept, however many there are and however
// large they are.
func TestFloodOfObjectsThatAreNotInView(t *testing.T) {
	f := newFixture(t, genuine)
	const objects, size = 40, 500_000
	flood := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			f.createWith(t, fmt.Sprintf("flood-%d", i), map[string]string{"rule": "r"}, func(obj *unstructured.Unstructured) {
				obj.Object["data"] = map[string]any{"bulk": strings.Repeat("x", size)}
			})
		}
	}
	flood(0, objects/2) // which are listed
	key := f.key("rule")
	before := inUse()
	f.monitors.Watch("owner", key)
	f.events.synced(t)
	flood(objects/2, objects) // which are watched
	f.createWith(t, "last", map[string]string{"rule": "r"}, func(obj *unstructured.Unstructured) {
		obj.SetAnnotations(map[string]string{"genuine": "tag"})
	})
	f.events.want(t, "added last")
	if grown := int64(inUse()) - int64(before); grown > objects*size/4 {
		t.Errorf("%d objects of %d bytes each took %d bytes", objects, size, grown)
	}
}

// inUse is how many bytes of the heap are in use.
func inUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
