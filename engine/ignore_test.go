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
)

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// scaledRule makes a Deployment of each App. $IGNORE stands for what it ignores.
const scaledRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: scaled}
spec:
  parent: {apiVersion: $GROUP/v1, kind: App}
  children:
  - id: deployment
    ignore: [$IGNORE]
    readyWhen: ${self.metadata.name != ""}
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${parent.metadata.name}"}
      spec:
        replicas: ${parent.spec.replicas}
        revisionHistoryLimit: ${parent.spec.history}
        paused: true
        selector: {matchLabels: {app: "${parent.metadata.name}"}}
        template:
          metadata: {labels: {app: "${parent.metadata.name}"}}
          spec: {containers: [{name: web, image: "web:1"}]}
  status: {replicas: "${children.deployment.spec.replicas}"}
`

func ignoring(paths string) string { return strings.ReplaceAll(scaledRule, "$IGNORE", paths) }

// scale sets the replicas of web as an autoscaler does.
func (w *world) scale(replicas int) {
	w.t.Helper()
	_, err := w.at(deployments, w.home).Patch(w.t.Context(), "web", types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{FieldManager: "autoscaler"}, "scale")
	if err != nil {
		w.t.Fatal(err)
	}
}

// wantReplicas waits until the engine is at rest and demands what the Deployment web has then.
func (w *world) wantReplicas(replicas int64) {
	w.t.Helper()
	w.quiet()
	if got := field(w.get(deployments, w.home, "web"), "spec", "replicas"); got != replicas {
		w.t.Errorf("replicas are %v, want %d", got, replicas)
	}
}

// An autoscaler has replicas for itself: each change of it is seen and none is undone,
// over changes of the parent and of the rule, and a restart.
func TestIgnoredReplicas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "App")
	w.rule("scaled", ignoring("spec.replicas"))
	stop := w.run()
	w.parent("App", "web", "{replicas: 2, history: 3}")
	w.await(w.resource("App"), w.home, "web", "is ready", isTrue("Ready"))
	w.wantReplicas(2)

	from := w.requests.count()
	for replicas := 3; replicas <= 12; replicas++ {
		w.scale(replicas)
		w.await(w.resource("App"), w.home, "web", "says how many", has(int64(replicas), "status", "replicas"))
	}
	w.wantReplicas(12)
	for _, request := range w.requestsAtHome(from) {
		if strings.Contains(request, "/deployments/") {
			t.Errorf("%s, while only the autoscaler had something to say", request)
		}
	}

	from = w.requests.count()
	w.patch(w.resource("App"), w.home, "web", `{"spec":{"replicas":1}}`)
	w.await(w.resource("App"), w.home, "web", "is looked at", isReadyAt)
	w.quiet()
	if got := w.requestsAtHome(from); len(got) != 1 {
		t.Errorf("%d requests for a field that is ignored, want one for the generation that the conditions observe: %q", len(got), got)
	}
	w.patch(w.resource("App"), w.home, "web", `{"spec":{"history":4}}`)
	w.await(deployments, w.home, "web", "follows beside that", has(int64(4), "spec", "revisionHistoryLimit"))
	w.rule("scaled", strings.Replace(ignoring("spec.replicas"), "        paused: true\n", "", 1))
	w.await(deployments, w.home, "web", "loses what left the template", func(obj *unstructured.Unstructured) bool {
		return field(obj, "spec", "paused") == nil
	})
	w.wantReplicas(12)
	w.patch(deployments, w.home, "web", `{"spec":{"revisionHistoryLimit":9}}`)
	w.await(deployments, w.home, "web", "has its drift put right", has(int64(4), "spec", "revisionHistoryLimit"))
	w.wantReplicas(12)

	stop()
	w.scale(6)
	from = w.requests.count()
	w.run()
	w.await(w.resource("App"), w.home, "web", "says how many", has(int64(6), "status", "replicas"))
	w.wantReplicas(6)
	for _, request := range w.requestsAtHome(from) {
		if strings.Contains(request, "/deployments") && !strings.HasPrefix(request, "GET ") {
			t.Errorf("%s after a restart with all in place", request)
		}
	}
}

// A path that is added to ignore later takes nothing away, and one that is removed has
// the rule take the field back, and keep it.
func TestIgnoreThatComesAndGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "App")
	w.rule("scaled", ignoring(""))
	w.run()
	w.parent("App", "web", "{replicas: 4, history: 3}")
	w.await(w.resource("App"), w.home, "web", "is ready", isTrue("Ready"))
	w.patch(w.resource("App"), w.home, "web", `{"spec":{"history":4}}`)
	w.await(deployments, w.home, "web", "was applied", has(int64(4), "spec", "revisionHistoryLimit"))

	// The template says nothing of the field any more, at the same time.
	w.rule("scaled", strings.Replace(ignoring("spec.replicas"), "        replicas: ${parent.spec.replicas}\n", "", 1))
	w.await(deployments, w.home, "web", "has replicas that are not Kanon's", func(obj *unstructured.Unstructured) bool {
		return !ownsField(obj, "f:spec", "f:replicas")
	})
	w.wantReplicas(4)
	w.scale(7)
	w.wantReplicas(7)

	w.rule("scaled", ignoring(""))
	w.await(deployments, w.home, "web", "is the rule's again", has(int64(4), "spec", "replicas"))
	w.scale(8)
	w.await(deployments, w.home, "web", "stays the rule's", has(int64(4), "spec", "replicas"))
	w.quiet()
}

// What the API server takes for one value cannot be ignored in part. Where the schema
// does not say so before, the child says so, and nothing is written.
func TestIgnoredPartOfOneValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "App")
	w.rule("scaled", ignoring("'spec.selector.matchLabels[app]'"))
	w.run()
	from := w.requests.count()
	w.parent("App", "web", "{replicas: 4, history: 3}")
	stalled := w.await(w.resource("App"), w.home, "web", "is stalled", isTrue("Stalled"))
	const want = "child deployment: Deployment.apps $HOME/web is not valid: ignore: spec.selector.matchLabels.app: " +
		"spec.selector is one value to the API server; ignore it as a whole, or nothing of it"
	if got := conditionField(stalled, "Stalled", "message"); got != w.expand(want) {
		t.Errorf("the condition says %q, want %q", got, w.expand(want))
	}
	<-time.After(3 * time.Second)
	if got := w.requestsAtHome(from); len(got) > 2 { // the status, and an Event
		t.Errorf("requests for a child that cannot be: %q", got)
	}
	w.rule("scaled", ignoring("spec.selector"))
	w.await(w.resource("App"), w.home, "web", "is ready", isTrue("Ready"))
}

// A field is handed over while a condition holds: its live value stays when that begins, and the
// rule's comes back when it ends, whoever has the field by then.
func TestIgnoreHandsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "App")
	w.rule("scaled", ignoring(`{path: spec.replicas, when: "${has(parent.spec.scaling)}"}`))
	stop := w.run()
	apps := w.resource("App")
	handOver := func() {
		t.Helper()
		w.patch(apps, w.home, "web", `{"spec":{"scaling":{"max":20},"replicas":1}}`)
		w.await(deployments, w.home, "web", "has replicas that are not Kanon's", func(obj *unstructured.Unstructured) bool {
			return !ownsField(obj, "f:spec", "f:replicas")
		})
	}
	takeBack := func() {
		t.Helper()
		w.patch(apps, w.home, "web", `{"spec":{"scaling":null}}`)
		w.await(deployments, w.home, "web", "has the rule's replicas", has(int64(1), "spec", "replicas"))
	}
	w.parent("App", "web", "{replicas: 4, history: 3}")
	w.await(apps, w.home, "web", "is ready", isTrue("Ready"))
	w.scale(9)
	w.await(deployments, w.home, "web", "is put right", has(int64(4), "spec", "replicas"))
	w.wantReplicas(4)

	// What the POST, and the apply after it, made Kanon's own is relinquished, with its value.
	handOver()
	w.wantReplicas(4)
	w.scale(7)
	w.patch(apps, w.home, "web", `{"spec":{"history":5,"replicas":2}}`)
	w.await(deployments, w.home, "web", "follows beside that", has(int64(5), "spec", "revisionHistoryLimit"))
	w.wantReplicas(7)
	stop()
	w.scale(8)
	from := w.requests.count()
	w.run()
	w.await(apps, w.home, "web", "says how many", has(int64(8), "status", "replicas"))
	w.wantReplicas(8)
	for _, request := range w.requestsAtHome(from) {
		if strings.Contains(request, "/deployments") && !strings.HasPrefix(request, "GET ") {
			t.Errorf("%s after a restart with all in place", request)
		}
	}

	// The rule has the field again, and hands it over once more.
	w.patch(apps, w.home, "web", `{"spec":{"replicas":1}}`)
	takeBack()
	w.scale(9)
	w.await(deployments, w.home, "web", "stays the rule's", has(int64(1), "spec", "replicas"))
	handOver()
	w.wantReplicas(1)
	w.scale(3)
	w.wantReplicas(3)
	w.delete(deployments, w.home, "web")
	w.await(deployments, w.home, "web", "is made again, with what the template has", has(int64(1), "spec", "replicas"))
}
