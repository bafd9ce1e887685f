package monitor_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/monitor"
)

// TestHeads holds that of a large object, by a key with Heads, no content is kept,
// whether it was listed, watched or written, and that all else is as for any object.
func TestHeads(t *testing.T) {
	f := newFixture(t)
	labels := map[string]string{"rule": "r", "parent": "p"}
	sized := func(bytes int) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			obj.Object["data"] = map[string]any{"bulk": strings.Repeat("x", bytes)}
			obj.SetAnnotations(map[string]string{"said": "something"})
		}
	}
	f.create(t, "small", labels)
	f.create(t, "one", labels)
	listed := f.updateOne(t, sized(100_000))

	key, all := f.key("rule"), f.key("rule")
	key.Heads = true
	f.monitors.Watch("owner", key, all)
	for range 2 {
		f.events.synced(t)
	}
	read := func(step string, want *unstructured.Unstructured, wantWhole bool) {
		t.Helper()
		known := f.monitors.Known(key, f.namespace, "one")
		if whole := known.IsWhole(); whole != wantWhole {
			t.Errorf("%s: whole is %t", step, whole)
		} else if whole && known.Shared() == nil {
			t.Errorf("%s: no object is kept", step)
		}
		head := known.Head()
		if version(head) != version(want) || head.GetAnnotations()["said"] != "something" {
			t.Fatalf("%s: the head is %v", step, head)
		}
		if entries, _, _ := unstructured.NestedSlice(head.Object, "metadata", "managedFields"); len(entries) == 0 {
			t.Errorf("%s: it is not known who manages it", step)
		}
		if head.Object["data"] != nil && !wantWhole {
			t.Errorf("%s: the head has data", step)
		}
		if listed := f.monitors.HeadsByIndex(key, monitor.ByParent, "r/p"); len(listed) != 2 || version(listed[0]) != version(want) {
			t.Errorf("%s: the index has %v", step, names(listed))
		}
		if object := f.monitors.View(key).Known(f.namespace, "small"); !object.IsWhole() || object.Shared().Object["data"] == nil {
			t.Errorf("%s: the small one is %v", step, object.Head())
		}
	}
	// caught waits until the watches have caught up with what was observed.
	caught := func(want *unstructured.Unstructured) {
		t.Helper()
		poll(t, "both watches to catch up", func() bool {
			object, _ := f.monitors.Get(all, f.namespace, "one")
			return f.monitors.Overlaid(key) == 0 && version(object) == version(want) &&
				version(f.monitors.Known(key, f.namespace, "one").Head()) == version(want)
		})
		if object, _ := f.monitors.Get(all, f.namespace, "one"); object.Object["data"] == nil {
			t.Error("it is cut for those who want its content")
		}
	}
	read("when it is listed", listed, false)
	for _, size := range []int{200_000, 10, 300_000} {
		written := f.updateOne(t, sized(size))
		f.monitors.Observe(key, written)
		read("when it is written", written, size == 10)
		caught(written)
		read("when it is watched", written, size == 10)
	}

	client := f.client.Resource(configMaps()).Namespace(f.namespace)
	if err := client.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	poll(t, "it to be gone", func() bool { return f.monitors.Known(key, f.namespace, "one").Head() == nil })
	if object := f.monitors.Known(key, f.namespace, "one"); object != nil || !object.IsWhole() {
		t.Errorf("of what is not there is known %v, %t", object.Head(), object.IsWhole())
	}
}
