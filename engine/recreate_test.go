package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
)

var (
	jobs         = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	pods         = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
)

// fixedRule renders what the API server does not let anybody change, and a reader of
// it.
const fixedRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: fixed}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: job
    updatePolicy: ApplyOrRecreate
    readyWhen: ${self.metadata.name != ""}
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: "${parent.metadata.name}"}
      spec:
        suspend: true
        template:
          spec:
            restartPolicy: ${parent.spec.?restart.orValue("Never")}
            containers: [{name: main, image: "job:${parent.spec.v}"}]
  - id: service
    updatePolicy: ApplyOrRecreate
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${parent.metadata.name}"}
      spec:
        clusterIP: ${parent.spec.?ip}
        type: NodePort
        ports: [{name: http, port: 80, nodePort: "${parent.spec.?nodePort}"}]
  - id: set
    updatePolicy: ApplyOrRecreate
    readyWhen: ${self.metadata.name != ""}
    template:
      apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: "${parent.metadata.name}"}
      spec:
        serviceName: s-${parent.spec.v}
        replicas: 0
        selector: {matchLabels: {app: x}}
        template:
          metadata: {labels: {app: x}}
          spec: {containers: [{name: main, image: x}]}
  - id: config
    updatePolicy: ApplyOrRecreate
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}", labels: {v: "${parent.spec.v}"}}
      immutable: true
      data: {v: "${parent.spec.v}"}
  - id: reader
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-reader"}
      data:
        v: ${children.config.data.v}
        uid: ${children.config.metadata.uid}
`

// uid is that of an object in the world's home.
func (w *world) uid(gvr schema.GroupVersionResource, name string) types.UID {
	w.t.Helper()
	return w.get(gvr, w.home, name).GetUID()
}

// another makes a condition for await: the object is not the one with that UID, and is
// not on its way out.
func another(uid types.UID) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool {
		return obj.GetUID() != uid && obj.GetDeletionTimestamp() == nil
	}
}

// soon has objects created again without any pause.
func soon(o *engine.Options) { o.RecreateBase, o.RecreateMax = time.Nanosecond, time.Nanosecond }

// What the API server lets nobody change is deleted and recreated; what it lets be
// changed is changed.
func TestApplyOrRecreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("fixed", fixedRule)
	stop := w.run()
	boxes := w.resource("Box")
	w.parent("Box", "b", `{v: "1"}`)
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	kinds := []schema.GroupVersionResource{jobs, statefulSets, configMaps}
	before := map[string]types.UID{}
	for _, gvr := range append(kinds, services) {
		before[gvr.Resource] = w.uid(gvr, "b")
	}
	reader := w.uid(configMaps, "b-reader")

	w.patch(boxes, w.home, "b", `{"spec":{"v":"2"}}`)
	for _, gvr := range kinds {
		w.await(gvr, w.home, "b", "is another one", another(before[gvr.Resource]))
	}
	config := w.await(configMaps, w.home, "b", "is as rendered", has("2", "data", "v"))
	w.await(configMaps, w.home, "b-reader", "reads the new one", has(string(config.GetUID()), "data", "uid"))
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	w.quiet()
	if field(w.get(statefulSets, w.home, "b"), "spec", "serviceName") != "s-2" {
		t.Error("the StatefulSet is not as rendered")
	}
	if w.uid(services, "b") != before["services"] || w.uid(configMaps, "b-reader") != reader {
		t.Error("what could be changed was created again")
	}
	w.awaitEvent(w.home, "b", "Recreating")

	// The address is the Service's as long as it is there; the port is kept for the new one.
	w.patch(boxes, w.home, "b", `{"spec":{"nodePort":`+freePort(w)+`}}`)
	w.await(boxes, w.home, "b", "is ready", isReadyAt)
	if w.uid(services, "b") != before["services"] {
		t.Error("a Service was created again for a port")
	}
	w.patch(boxes, w.home, "b", `{"spec":{"ip":"`+freeAddress(w)+`"}}`)
	w.await(services, w.home, "b", "is another one", another(before["services"]))
	w.await(boxes, w.home, "b", "is ready", isReadyAt)
	w.quiet()

	stop()
	from := w.requests.count()
	w.run()
	w.awaitLook("b")
	w.quiet()
	if got := writesIn(w.requests.since(from)); len(got) > 0 {
		t.Errorf("a restart writes %q", got)
	}
}

// isReadyAt holds for a parent that is ready in its newest generation.
func isReadyAt(obj *unstructured.Unstructured) bool {
	return isTrue("Ready")(obj) && conditionGeneration(obj, "Ready") == obj.GetGeneration()
}

// writesIn are the requests that change something.
func writesIn(requests []string) []string {
	var writes []string
	for _, request := range requests {
		if !strings.HasPrefix(request, "GET ") && !strings.Contains(request, "/events") {
			writes = append(writes, request)
		}
	}
	return writes
}

// freePort is a node port that nobody has, of those that the API server gives to nobody
// who does not ask for them by number.
func freePort(w *world) string {
	w.t.Helper()
	var refused error
	for port := 30000; port < 30080; port++ {
		probe := w.object(fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: probe, namespace: $HOME}, spec: {type: NodePort, ports: [{port: 80, nodePort: %d}]}}`, port))
		if _, refused = w.at(services, w.home).Create(w.t.Context(), probe, metav1.CreateOptions{}); refused == nil {
			w.delete(services, w.home, "probe")
			return fmt.Sprint(port)
		}
	}
	w.t.Fatalf("there is no free port: %v", refused)
	return ""
}

// freeAddress is an address that the API server gave away and took back: it has a
// million of them.
func freeAddress(w *world) string {
	w.t.Helper()
	probe := w.create(services, w.object(`{apiVersion: v1, kind: Service, metadata: {name: probe, namespace: $HOME}, spec: {ports: [{port: 80}]}}`))
	w.delete(services, w.home, "probe")
	address, _, _ := unstructured.NestedString(probe.Object, "spec", "clusterIP")
	return address
}

// The old object is gone before the new one is made. What holds it is named; those who
// read it wait; and nobody asks again and again.
func TestRecreateAwaitsTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("fixed", fixedRule)
	stop := w.run()
	boxes := w.resource("Box")
	w.parent("Box", "b", `{v: "1"}`)
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	w.patch(configMaps, w.home, "b", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	w.quiet()
	held := w.uid(configMaps, "b")

	w.patch(boxes, w.home, "b", `{"spec":{"v":"2"}}`)
	waiting := w.await(boxes, w.home, "b", "waits", func(obj *unstructured.Unstructured) bool {
		return strings.Contains(conditionField(obj, "Reconciling", "message"), "example.com/hold")
	})
	if message := conditionField(waiting, "Reconciling", "message"); strings.Contains(message, "foregroundDeletion") {
		t.Errorf("the condition says %q, want only what others hold", message)
	}
	w.quiet()
	if got := field(w.get(configMaps, w.home, "b-reader"), "data", "v"); got != "1" {
		t.Errorf("the reader has %v, want it to wait", got)
	}
	if obj := w.get(configMaps, w.home, "b"); obj.GetUID() != held || obj.GetDeletionTimestamp() == nil {
		t.Error("the old object is not on its way out")
	}

	stop()
	w.run() // in the middle of it
	w.awaitLook("b")
	w.quiet()
	w.patch(configMaps, w.home, "b", `{"metadata":{"finalizers":null}}`)
	w.await(configMaps, w.home, "b", "is another one", another(held))
	w.await(configMaps, w.home, "b-reader", "is updated", has("2", "data", "v"))
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
}

// What would be refused as a new object as well does not cost the old one.
func TestRecreateOnlyWhatWouldBeAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("fixed", fixedRule)
	w.run()
	boxes := w.resource("Box")
	w.parent("Box", "b", `{v: "1"}`)
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	old := w.uid(jobs, "b")
	from := w.requests.count()
	w.patch(boxes, w.home, "b", `{"spec":{"v":"2","restart":"Always"}}`)
	stalled := w.await(boxes, w.home, "b", "is stalled", isTrue("Stalled"))
	message := conditionField(stalled, "Stalled", "message")
	for _, part := range []string{"child job: it is not recreated", "change of spec.template.spec)", "spec.template.spec.restartPolicy: "} {
		if !strings.Contains(message, part) {
			t.Errorf("the condition says %q, want it to say %s", message, part)
		}
	}
	for _, request := range w.requests.since(from) {
		if strings.HasPrefix(request, "DELETE ") && strings.Contains(request, "/jobs/") {
			t.Errorf("sent %s", request)
		}
	}
	if w.uid(jobs, "b") != old {
		t.Fatal("the Job was deleted for what is refused")
	}
	w.patch(boxes, w.home, "b", `{"spec":{"restart":"OnFailure"}}`)
	w.await(jobs, w.home, "b", "is another one", another(old))
	w.await(boxes, w.home, "b", "is ready", isReadyAt)
}

// volumesRule asks for a StatefulSet with volumes of a size.
const volumesRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: volumes}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: set
    readyWhen: ${self.metadata.name != ""}$POLICY
    template:
      apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: "${parent.metadata.name}"}
      spec:
        serviceName: s
        replicas: 1
        selector: {matchLabels: {app: x}}
        template:
          metadata: {labels: {app: x}}
          spec: {containers: [{name: main, image: x}]}
        volumeClaimTemplates:
        - metadata: {name: data}
          spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "${parent.spec.size}"}}}
`

// A StatefulSet whose volumes change is refused with the way that keeps its Pods. With recreatePropagation: Orphan it is
// recreated, and the new one takes over its Pods.
func TestRecreateOverPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("volumes", strings.ReplaceAll(volumesRule, "$POLICY", ""))
	w.run()
	boxes := w.resource("Box")
	w.parent("Box", "b", `{size: 1Gi}`)
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	before := w.uid(statefulSets, "b")
	pod := w.await(pods, w.home, "b-0", "is made by the StatefulSet's controller", exists).GetUID()

	w.patch(boxes, w.home, "b", `{"spec":{"size":"2Gi"}}`)
	refused := w.await(boxes, w.home, "b", "is stalled", isTrue("Stalled"))
	if message := conditionField(refused, "Stalled", "message"); !strings.Contains(message, "recreatePropagation: Orphan") {
		t.Errorf("the message does not say how the Pods are kept: %s", message)
	}
	w.rule("volumes", strings.ReplaceAll(volumesRule, "$POLICY", `
    updatePolicy: ApplyOrRecreate
    recreatePropagation: Orphan`))
	w.await(statefulSets, w.home, "b", "is another one", another(before))
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	now := w.uid(statefulSets, "b")
	left := w.await(pods, w.home, "b-0", "is the new one's", func(o *unstructured.Unstructured) bool {
		owner := metav1.GetControllerOf(o)
		return owner != nil && owner.UID == now
	})
	if left.GetUID() != pod || left.GetDeletionTimestamp() != nil {
		t.Error("the Pod has not stayed")
	}
	w.quiet()
}

// Recreate recreates an object when something else is rendered for it, and for no
// other reason.
func TestRecreate(t *testing.T) {
	t.Parallel()
	const rule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: anew}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: config
    updatePolicy: Recreate
    createWhen: ${parent.spec.?create.orValue(true)}
    updateWhen: ${!parent.spec.?frozen.orValue(false)}
    ignore: [data.others]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {v: "${parent.spec.v}", others: "${parent.spec.v}", same: x}
`
	w := newWorld(t, "Box")
	w.rule("anew", strings.Replace(rule, "    updatePolicy: Recreate\n", "", 1))
	stop := w.run(soon)
	boxes := w.resource("Box")
	w.parent("Box", "b", `{v: "1"}`)
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	first := w.uid(configMaps, "b")
	keeps := func(uid types.UID, after string) {
		t.Helper()
		w.quiet()
		if w.uid(configMaps, "b") != uid {
			t.Fatalf("%s, it is another object", after)
		}
	}

	w.rule("anew", rule)
	w.verdict("anew", `"ready":true`)
	keeps(first, "after the policy was chosen")
	w.patch(configMaps, w.home, "b", `{"data":{"same":"y","v":"z"}}`)
	w.await(configMaps, w.home, "b", "is put right", func(obj *unstructured.Unstructured) bool {
		return field(obj, "data", "same") == "x" && field(obj, "data", "v") == "1"
	})
	keeps(first, "after a drift")
	w.rule("anew", strings.Replace(rule, "id: config", "id: renamed", 1))
	w.await(configMaps, w.home, "b", "has other marks", func(obj *unstructured.Unstructured) bool {
		owner, _ := mark.ReadOwner(obj)
		return owner.Node == "renamed"
	})
	keeps(first, "after another name for the node")

	w.patch(boxes, w.home, "b", `{"spec":{"frozen":true,"v":"2"}}`)
	keeps(first, "while it must not be changed")
	w.patch(boxes, w.home, "b", `{"spec":{"frozen":false,"create":false}}`)
	keeps(first, "while a new one must not be made")
	if got := field(w.get(configMaps, w.home, "b"), "data", "v"); got != "1" {
		t.Errorf("its content is %v, want it to stay", got)
	}
	w.patch(boxes, w.home, "b", `{"spec":{"create":true}}`)
	second := w.await(configMaps, w.home, "b", "is another one", another(first))
	if field(second, "data", "v") != "2" || field(second, "data", "others") != "2" {
		t.Errorf("the new one has %v", field(second, "data"))
	}
	keeps(second.GetUID(), "at rest")
	stop()
	w.run(soon)
	w.awaitLook("b")
	keeps(second.GetUID(), "after a restart")
}

// What is not the parent's is not deleted for a change.
func TestRecreateOnlyWhatIsOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("fixed", strings.ReplaceAll(fixedRule, "updatePolicy:", "adopt: true\n    updatePolicy:"))
	stranger := w.create(configMaps, w.object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: $HOME}, immutable: true, data: {v: mine}}`))
	w.run()
	w.parent("Box", "b", `{v: "1"}`)
	stalled := w.await(w.resource("Box"), w.home, "b", "is stalled", isTrue("Stalled"))
	if message := conditionField(stalled, "Stalled", "message"); !strings.Contains(message, "immutable") {
		t.Errorf("the condition says %q", message)
	}
	if now := w.get(configMaps, w.home, "b"); now.GetUID() != stranger.GetUID() || now.GetDeletionTimestamp() != nil {
		t.Error("what somebody else made was deleted")
	}
}

// An object of which recreateWhen is true is created again, and when it comes to that
// again soon, only after a pause, which a restart does not cut short.
func TestRecreateWhen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box", "Task")
	w.rule("tasks", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: tasks}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: task
    recreateWhen: ${self.status.phase == "Failed"}
    createWhen: ${!parent.spec.?done.orValue(false)}
    readyWhen: ${self.?status.phase.orValue("") == "Done"}
    template:
      apiVersion: $GROUP/v1
      kind: Task
      metadata: {name: "${parent.metadata.name}"}
      spec: {v: "${parent.spec.v}"}
  - id: other
    when: ${parent.spec.v == "1"}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
`)
	hourly := func(o *engine.Options) { o.RecreateBase, o.RecreateMax = time.Hour, time.Hour }
	stop := w.run(hourly)
	boxes, tasks := w.resource("Box"), w.resource("Task")
	fails := func() types.UID {
		t.Helper()
		var uid types.UID
		w.update(tasks, w.home, "b", func(live *unstructured.Unstructured) {
			live.Object["status"], uid = map[string]any{"phase": "Failed"}, live.GetUID()
		}, "status")
		return uid
	}
	w.parent("Box", "b", `{v: "1"}`)
	w.await(tasks, w.home, "b", "is made", exists)
	w.await(configMaps, w.home, "b", "is made", exists)

	first := fails()
	second := w.await(tasks, w.home, "b", "is another one", another(first)).GetUID()
	w.awaitEvent(w.home, "b", "Recreating")
	w.quiet()
	if got := w.get(tasks, w.home, "b").GetAnnotations()["kanon.dev/recreated"]; !strings.HasPrefix(got, "1 ") || w.uid(tasks, "b") != second {
		t.Errorf("it says %q, or was created again once more", got)
	}

	fails()
	pending := w.await(boxes, w.home, "b", "says what is to come", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Reconciling", "reason") == "Recreating"
	})
	if message := conditionField(pending, "Reconciling", "message"); !strings.Contains(message, "its recreateWhen is true; it was recreated once already, and is recreated again at ") {
		t.Errorf("the condition says %q", message)
	}
	w.patch(boxes, w.home, "b", `{"spec":{"v":"2"}}`) // it stays as it is, and holds up no pruning
	w.awaitGone(configMaps, w.home, "b")
	w.quiet()
	if got := field(w.get(tasks, w.home, "b"), "spec", "v"); got != "1" {
		t.Errorf("v of the old object is %v, want it to stay until the object is recreated", got)
	}
	stop()
	from := w.requests.count()
	stop = w.run(hourly)
	w.awaitLook("b")
	w.quiet()
	if got := writesIn(w.requests.since(from)); len(got) > 0 || w.uid(tasks, "b") != second {
		t.Errorf("a restart writes %q", got)
	}

	stop()
	w.run(func(o *engine.Options) { o.RecreateBase, o.RecreateMax = time.Nanosecond, time.Hour })
	third := w.await(tasks, w.home, "b", "is another one", another(second))
	if got := third.GetAnnotations()["kanon.dev/recreated"]; !strings.HasPrefix(got, "2 ") || field(third, "spec", "v") != "2" {
		t.Errorf("it says %q, want that this is the second time, with the new v", got)
	}
	w.patch(boxes, w.home, "b", `{"spec":{"done":true}}`)
	w.quiet()
	fails()
	w.quiet()
	if live := w.get(tasks, w.home, "b"); live.GetUID() != third.GetUID() || live.GetDeletionTimestamp() != nil {
		t.Error("it was deleted though createWhen allows for no new one")
	}
}

// A recreateWhen that compares the object with what the template sets now is not made false by an
// update in place during the pause: the object is recreated after it.
func TestRecreateWhenIsNotLostInThePause(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("configs", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: configs}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: config
    recreateWhen: ${self.data.v != parent.spec.v}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {v: "${parent.spec.v}"}
`)
	w.run(func(o *engine.Options) { o.RecreateBase, o.RecreateMax = 2*time.Second, time.Minute })
	boxes := w.resource("Box")
	w.parent("Box", "b", `{v: "1"}`)
	first := w.await(configMaps, w.home, "b", "is made", has("1", "data", "v")).GetUID()
	w.patch(boxes, w.home, "b", `{"spec":{"v":"2"}}`)
	second := w.await(configMaps, w.home, "b", "is recreated", func(obj *unstructured.Unstructured) bool {
		return another(first)(obj) && has("2", "data", "v")(obj)
	}).GetUID()
	w.patch(boxes, w.home, "b", `{"spec":{"v":"3"}}`)
	third := w.await(configMaps, w.home, "b", "has the third value", has("3", "data", "v"))
	if third.GetUID() == second {
		t.Error("it was changed in place, and its recreation is lost")
	}
}

// Who reads an object that has to wait for its recreation says so.
func TestReaderOfAnObjectThatIsRecreated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("configs", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: configs}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: config
    updatePolicy: Recreate
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {v: "${parent.spec.v}"}
  - id: reader
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-reader"}
      data: {v: "${children.config.data.v}"}
`)
	w.run(func(o *engine.Options) { o.RecreateBase, o.RecreateMax = time.Hour, time.Hour })
	boxes := w.resource("Box")
	w.parent("Box", "b", `{v: "1"}`)
	w.await(configMaps, w.home, "b-reader", "is made", has("1", "data", "v"))
	w.patch(boxes, w.home, "b", `{"spec":{"v":"2"}}`)
	w.await(configMaps, w.home, "b-reader", "has the second value", has("2", "data", "v"))
	w.patch(boxes, w.home, "b", `{"spec":{"v":"3"}}`)
	waiting := w.await(boxes, w.home, "b", "waits", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Reconciling", "reason") == "Recreating"
	})
	message := conditionField(waiting, "Reconciling", "message")
	if want := "child reader: template.data.v: children.config is not up to date yet: ConfigMap " + w.home + "/b is recreated at "; !strings.Contains(message, want) {
		t.Errorf("the condition says %q, want it to say %q", message, want)
	}
}

// A recreateWhen that time makes true says how long the object lasts. That is no loop: the pauses do not grow.
func TestRecreateWhenTimeHasCome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("configs", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: configs}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: config
    recreateWhen: ${now > timestamp(self.metadata.creationTimestamp) + duration("1s")}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
`)
	w.run(func(o *engine.Options) { o.RecreateBase, o.RecreateMax = time.Second, time.Hour })
	w.parent("Box", "b", `{}`)
	uid := w.await(configMaps, w.home, "b", "is made", exists).GetUID()
	for range 3 {
		next := w.await(configMaps, w.home, "b", "is another one", another(uid))
		if got := next.GetAnnotations()["kanon.dev/recreated"]; !strings.HasPrefix(got, "1 ") {
			t.Errorf("it says %q, want that only the last recreation counts", got)
		}
		uid = next.GetUID()
	}
}

// A revision that would have more objects recreated than it may delete is held like one
// that would delete them, over a restart too, and each parent says what waits.
func TestRevisionThatWouldRecreateMuch(t *testing.T) {
	t.Parallel()
	for policy, immutable := range map[string]string{"Recreate": "", "ApplyOrRecreate": "      immutable: true\n"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Note")
			text := func(content string, limit int) string {
				return strings.NewReplacer(
					"spec:\n", fmt.Sprintf("spec:\n  pruneLimit: %d\n", limit),
					"  - id: config\n", "  - id: config\n    updatePolicy: "+policy+"\n",
				).Replace(note(content)) + immutable
			}
			w.rule("note", text("x", 1))
			stop := w.run(soon)
			uids := make(map[string]string)
			for _, name := range []string{"a", "b"} {
				w.parent("Note", name, "{}")
				uids[name] = string(w.await(configMaps, w.home, name, "is made", exists).GetUID())
				w.await(w.resource("Note"), w.home, name, "is ready", isTrue("Ready"))
			}
			w.awaitRecord("note", w.revisionOf(text("x", 1)))
			w.rule("note", text("y", 1))
			for range 2 {
				w.verdict("note", "this revision of the rule would delete 2 objects")
				for _, name := range []string{"a", "b"} {
					w.await(w.resource("Note"), w.home, name, "says what waits", func(obj *unstructured.Unstructured) bool {
						return conditionField(obj, "Stalled", "reason") == "PruneHeld" && strings.Contains(conditionField(obj, "Stalled", "message"), "child config")
					})
				}
				w.quiet()
				for name, uid := range uids {
					if child := w.get(configMaps, w.home, name); string(child.GetUID()) != uid || child.GetDeletionTimestamp() != nil {
						t.Errorf("child %s was deleted", name)
					}
				}
				stop()
				stop = w.run(soon)
			}
			w.parent("Note", "c", "{}")
			w.await(configMaps, w.home, "c", "is made as the rule says now", has("y", "data", "text"))
			w.confirm(w.revisionOf(text("y", 1)))
			for name, uid := range uids {
				w.await(configMaps, w.home, name, "is created again", func(obj *unstructured.Unstructured) bool {
					return string(obj.GetUID()) != uid && field(obj, "data", "text") == "y"
				})
				w.await(w.resource("Note"), w.home, name, "is ready again", isTrue("Ready"))
			}
			// Three may go unasked where the limit is three.
			w.rule("note", text("z", 3))
			for _, name := range []string{"a", "b", "c"} {
				w.await(configMaps, w.home, name, "is created again", has("z", "data", "text"))
			}
		})
	}
}

// An object that waits for its dependencies counts as one that the revision may recreate: once they are ready, it is not deleted
// unconfirmed.
func TestRevisionThatWouldRecreateWhatWaits(t *testing.T) {
	t.Parallel()
	for policy, fields := range map[string]string{
		"Recreate":        "updatePolicy: Recreate",
		"ApplyOrRecreate": "updatePolicy: ApplyOrRecreate",
		"recreateWhen":    "recreateWhen: ${self.data.text != 'y'}",
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Note")
			text := func(content, fields string) string {
				return `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: note}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  pruneLimit: 1
  children:
  - id: gate
    readyWhen: ${has(self.data) && "open" in self.data}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-gate", labels: {revision: ` + content + `}}
  - id: config
    dependsOn: [gate]
    ` + fields + `
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {text: ` + content + `}
      immutable: true
`
			}
			gates := func(data string) {
				for _, name := range []string{"a", "b"} {
					w.patch(configMaps, w.home, name+"-gate", `{"data": `+data+`}`)
				}
			}
			before, after := text("x", "adopt: false"), text("y", fields)
			w.rule("note", before)
			w.run(soon)
			uids := make(map[string]string)
			for _, name := range []string{"a", "b"} {
				w.parent("Note", name, "{}")
				w.await(configMaps, w.home, name+"-gate", "is made", exists)
			}
			gates(`{"open": "yes"}`)
			for _, name := range []string{"a", "b"} {
				uids[name] = string(w.await(configMaps, w.home, name, "is made", exists).GetUID())
				w.await(w.resource("Note"), w.home, name, "is ready", isTrue("Ready"))
			}
			w.awaitRecord("note", w.revisionOf(before))
			gates("null")
			for _, name := range []string{"a", "b"} {
				w.await(w.resource("Note"), w.home, name, "waits for the gate", isTrue("Reconciling"))
			}
			w.rule("note", after)
			for _, name := range []string{"a", "b"} {
				w.await(configMaps, w.home, name+"-gate", "is as the rule says now", has("y", "metadata", "labels", "revision"))
			}
			w.quiet()
			gates(`{"open": "yes"}`)
			w.verdict("note", "this revision of the rule would delete 2 objects")
			w.quiet()
			for name, uid := range uids {
				if child := w.get(configMaps, w.home, name); string(child.GetUID()) != uid || child.GetDeletionTimestamp() != nil {
					t.Errorf("child %s was deleted", name)
				}
			}
			w.confirm(w.revisionOf(after))
			for name, uid := range uids {
				w.await(configMaps, w.home, name, "is created again", func(obj *unstructured.Unstructured) bool {
					return string(obj.GetUID()) != uid && field(obj, "data", "text") == "y"
				})
			}
		})
	}
}
