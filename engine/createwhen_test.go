package engine_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
)

// onceRule runs a task until the status says that it is done, and says in another
// object whether the task is there.
const onceRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: once}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: task
    createWhen: ${!parent.?status.?done.orValue(false)}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-task"}
      data: {color: "${parent.spec.color}"}
  - id: after
    dependsOn: [task]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-after"}
      data: {task: "${children.?task.data.color.orValue('none')}"}
  status:
    done: ${parent.?status.?done.orValue(false) || children.?task.data.?finished.orValue("") == "true"}
`

// What createWhen keeps from being made is kept and updated while it is there, is
// not made again when it is gone, and is never pruned because of it.
func TestCreateWhen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("once", onceRule)
	stop := w.run()
	boxes := w.resource("Box")
	w.parent("Box", "b", "{color: red}")
	task := w.await(configMaps, w.home, "b-task", "is made", has("red", "data", "color"))
	w.patch(configMaps, w.home, "b-task", `{"data":{"finished":"true"}}`)
	w.await(boxes, w.home, "b", "is done and ready", func(obj *unstructured.Unstructured) bool {
		return field(obj, "status", "done") == true && isTrue("Ready")(obj)
	})

	w.patch(boxes, w.home, "b", `{"spec":{"color":"blue"}}`)
	updated := w.await(configMaps, w.home, "b-task", "is updated", has("blue", "data", "color"))
	if updated.GetUID() != task.GetUID() {
		t.Error("the object was created again; createWhen must leave it")
	}
	w.delete(configMaps, w.home, "b-task")
	w.await(configMaps, w.home, "b-after", "sees that it is not there", has("none", "data", "task"))
	w.quiet()
	stop()
	from := w.requests.count()
	w.run()
	w.patch(boxes, w.home, "b", `{"spec":{"color":"green"}}`)
	w.await(boxes, w.home, "b", "is looked at", func(obj *unstructured.Unstructured) bool {
		return conditionGeneration(obj, "Ready") == obj.GetGeneration() && isTrue("Ready")(obj)
	})
	w.quiet()
	if got := w.requestsAtHome(from); len(got) != 1 {
		t.Errorf("%d requests, want one for the condition's generation: %q", len(got), got)
	}
	w.awaitGone(configMaps, w.home, "b-task")

	w.patchStatus(boxes, w.home, "b", `{"status":{"done":false}}`)
	again := w.await(configMaps, w.home, "b-task", "is made again", has("green", "data", "color"))
	if again.GetUID() == task.GetUID() {
		t.Error("the object has the old UID")
	}
}

// frozenRule leaves an object alone that says that it is frozen.
const frozenRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: frozen}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: items
    when: ${parent.spec.?on.orValue(true)}
    forEach: [{name: i, in: [a, b]}]
    updateWhen: ${self.?data.frozen.orValue("") != "true"}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-${i}"}
      data: {color: "${parent.spec.color}"}
  status:
    colors: ${children.items.map(i, i.data.color).join(",")}
    frozen: ${children.items.map(i, i.data.?frozen.orValue("false")).join(",")}
`

// What updateWhen leaves as it is is not written, whatever becomes of it, is seen
// by its readers as it is, and is pruned with the others.
func TestUpdateWhen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("frozen", frozenRule)
	stop := w.run()
	boxes := w.resource("Box")
	colors := func(want string) {
		t.Helper()
		w.await(boxes, w.home, "b", "has colors "+want+" and is ready", func(obj *unstructured.Unstructured) bool {
			return field(obj, "status", "colors") == want && isTrue("Ready")(obj)
		})
	}
	w.parent("Box", "b", "{color: red}")
	colors("red,red")
	made := w.get(configMaps, w.home, "b-a")
	w.patch(configMaps, w.home, "b-a", `{"data":{"frozen":"true"}}`)
	// Nothing orders what two watches bring: blue could be there before the frost.
	w.await(boxes, w.home, "b", "says that a child is frozen", has("true,false", "status", "frozen"))
	w.patch(boxes, w.home, "b", `{"spec":{"color":"blue"}}`)
	colors("red,blue")
	w.patch(configMaps, w.home, "b-a", `{"data":{"color":"changed"}}`)
	colors("changed,blue")
	w.quiet()
	stop()

	// What makes it the parent's is given back, also where that was what it is found by.
	for _, damage := range []string{
		`{"metadata":{"labels":{"` + mark.LabelRule + `":null},"ownerReferences":null}}`,
		`{"metadata":{"annotations":{"` + mark.AnnotationApplied + `":null}}}`,
		`{"metadata":{"annotations":{"` + mark.AnnotationApplied + `":"1.a.b"}}}`,
	} {
		w.patch(configMaps, w.home, "b-a", damage)
		stop := w.run()
		mended := w.await(configMaps, w.home, "b-a", "is the parent's again", func(obj *unstructured.Unstructured) bool {
			return obj.GetLabels()[mark.LabelRule] == made.GetLabels()[mark.LabelRule] && sameOwner(obj, made) && len(obj.GetOwnerReferences()) == 1
		})
		if got := field(mended, "data", "color"); got != "changed" || mended.GetUID() != made.GetUID() {
			t.Errorf("after %s: color %v, UID %s; want the object as it was", damage, got, mended.GetUID())
		}
		colors("changed,blue")
		w.quiet()
		stop()
	}

	from := w.requests.count()
	w.run()
	w.patch(boxes, w.home, "b", `{"spec":{"other":"x"}}`)
	w.await(boxes, w.home, "b", "is looked at", func(obj *unstructured.Unstructured) bool {
		return conditionGeneration(obj, "Ready") == obj.GetGeneration()
	})
	w.quiet()
	if got := w.requestsAtHome(from); len(got) != 1 {
		t.Errorf("%d requests, want one for the condition's generation: %q", len(got), got)
	}
	w.patch(configMaps, w.home, "b-a", `{"data":{"frozen":null}}`)
	colors("blue,blue")
	w.patch(configMaps, w.home, "b-a", `{"data":{"frozen":"true"}}`)
	w.patch(boxes, w.home, "b", `{"spec":{"on":false}}`)
	w.awaitGone(configMaps, w.home, "b-a")
	w.awaitGone(configMaps, w.home, "b-b")
}

// An object of a stranger is left alone, and its name is no reason to make another.
func TestCreateWhenAndStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("once", onceRule)
	stranger := w.create(configMaps, w.object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: b-task, namespace: $HOME}, data: {color: mine}}`))
	w.parent("Box", "b", "{color: red}")
	w.patchStatus(w.resource("Box"), w.home, "b", `{"status":{"done":true}}`)
	w.run()
	w.await(configMaps, w.home, "b-after", "sees nothing of it", has("none", "data", "task"))
	w.quiet()
	if got := w.get(configMaps, w.home, "b-task"); got.GetResourceVersion() != stranger.GetResourceVersion() {
		t.Error("the stranger was written to")
	}
	if posts := slices.ContainsFunc(w.requestsAtHome(0), func(r string) bool { return strings.HasSuffix(r, "b-task") }); posts {
		t.Error("there was a request for the stranger's object")
	}
}

// sameOwner tells whether two objects say that they were made for the same parent by the same node.
func sameOwner(a, b *unstructured.Unstructured) bool {
	one, ok := mark.ReadOwner(a)
	other, also := mark.ReadOwner(b)
	return ok && also && one == other
}
