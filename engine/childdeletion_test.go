package engine_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/restmapping"
)

// What deletionPolicy keeps is not deleted, so it does not count for the prune guard.
func TestWhatIsKeptDoesNotCountForTheGuard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	rule := func(when string) string {
		return strings.NewReplacer("spec:\n", "spec:\n  pruneLimit: 0\n",
			"  - id: config\n", "  - id: config\n    deletionPolicy: {whenPruned: Orphan}\n    when: ${"+when+"}\n").Replace(note("x"))
	}
	w.rule("note", rule("true"))
	w.run()
	w.parent("Note", "n", "{}")
	made := w.await(configMaps, w.home, "n", "is made", exists)
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.awaitRecord("note", w.revisionOf(rule("true")))
	w.rule("note", rule("false"))
	w.await(configMaps, w.home, "n", "is let go", func(obj *unstructured.Unstructured) bool {
		return obj.GetAnnotations()["kanon.dev/retained-by"] != "" && len(obj.GetOwnerReferences()) == 0
	})
	w.awaitRecord("note", w.revisionOf(rule("false")))
	if kept := w.get(configMaps, w.home, "n"); kept.GetUID() != made.GetUID() {
		t.Error("the child was deleted")
	}
}

// Which conditions of a parent are a rule's is remembered: where the API server takes
// all of them for one value, nothing else tells once the rule is gone.
func TestConditionsOfARuleThatIsRemovedWhileAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.atomicDefinition("Note"))
	notes := w.resource("Note")
	w.rule("conditions", strings.Replace(conditionsRule, "spec:\n", "spec:\n  conditionPrefix: Light\n", 1))
	stop := w.run()
	w.parent("Note", "n", "{lit: true, by: one}")
	w.await(notes, w.home, "n", "has the rule's conditions", func(obj *unstructured.Unstructured) bool {
		return conditionStatus(obj, "LightReady") == "True" && conditionStatus(obj, "Lit") != ""
	})
	w.awaitRecord("conditions", `"conditionPrefix":"Light","conditions":["Lit"`)
	stop()
	w.delete(configMaps, w.kanon, "conditions")
	list, _, _ := unstructured.NestedSlice(w.get(notes, w.home, "n").Object, "status", "conditions")
	text, err := json.Marshal(map[string]any{"status": map[string]any{
		"conditions": append(list, map[string]any{"type": "Synced", "status": "True"}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.patchStatus(notes, w.home, "n", string(text))
	w.run()
	w.await(notes, w.home, "n", "has those of others only", func(obj *unstructured.Unstructured) bool { return typesOf(obj) == "Synced" })
}

// When a namespace goes, Kubernetes deletes the parents in it. What they have elsewhere
// goes before them, and holds up the namespace no longer than that takes.
func TestNamespaceOfAParentThatGoes(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.rule("wide", wideRule)
	w.run()
	gone := w.home + "-gone"
	w.create(namespaces, w.object("{apiVersion: v1, kind: Namespace, metadata: {name: "+gone+"}}"))
	team := w.object("{apiVersion: $GROUP/v1, kind: Team, metadata: {name: red, namespace: " + gone + "}, spec: {size: small, elsewhere: " + elsewhere + "}}")
	w.create(w.resource("Team"), team)
	w.await(w.resource("Team"), gone, "red", "is ready", isTrue("Ready"))
	w.delete(namespaces, "", gone)
	w.awaitGone(configMaps, elsewhere, "red-far")
	w.awaitGone(w.resource("Zone"), "", w.home+"-red")
	w.awaitGone(namespaces, "", gone)
	w.quiet()
}

// A suspended parent that is deleted goes with what is tied to it, unless the rule holds
// it: then it waits with all its children until it is suspended no more.
func TestSuspendedParentThatIsDeleted(t *testing.T) {
	t.Parallel()
	const suspend = `{"metadata":{"annotations":{"kanon.dev/suspend":"true"}}}`
	w, elsewhere := wideWorld(t)
	w.define("Box")
	w.rule("wide", wideRule)
	w.rule("box", boxRule)
	w.run()
	teams, boxes := w.resource("Team"), w.resource("Box")
	w.team("red", elsewhere)
	w.parent("Box", "red", "{color: red}")
	w.await(boxes, w.home, "red", "is ready", isTrue("Ready"))
	w.patch(boxes, w.home, "red", suspend)
	w.delete(boxes, w.home, "red")
	w.awaitGone(configMaps, w.home, "red-config")
	w.awaitGone(services, w.home, "red")

	w.patch(teams, w.home, "red", suspend)
	w.delete(teams, w.home, "red")
	w.quiet()
	if !w.holds("wide")(w.get(teams, w.home, "red")) {
		t.Error("the parent is not held")
	}
	for _, child := range []*unstructured.Unstructured{
		w.get(configMaps, w.home, "red-near"), w.get(configMaps, elsewhere, "red-far"), w.get(w.resource("Zone"), "", w.home+"-red"),
	} {
		if child.GetDeletionTimestamp() != nil {
			t.Errorf("%s %s goes", child.GetKind(), child.GetName())
		}
	}
	w.patch(teams, w.home, "red", `{"metadata":{"annotations":{"kanon.dev/suspend":null}}}`)
	w.awaitGone(teams, w.home, "red")
	w.awaitGone(configMaps, elsewhere, "red-far")
	w.awaitGone(w.resource("Zone"), "", w.home+"-red")
}

// A parent may have children of a kind that the rule mentions no more. While it is not
// known whether the cluster has that kind, it is held; once it is known, it goes.
func TestUnknownKindHoldsTheParent(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.define("Extra")
	w.rule("wide", wideRule+`  - id: extra
    readyWhen: ${true}
    template: {apiVersion: $GROUP/v1, kind: Extra, metadata: {name: "${parent.metadata.name}"}, spec: {}}
`)
	stop := w.run()
	w.team("red", elsewhere)
	w.awaitRecord("wide", `"kind":"Extra"`)
	stop()
	w.rule("wide", wideRule)
	w.delete(crds, "", "extras."+w.group)
	w.awaitGone(crds, "", "extras."+w.group)

	var broken atomic.Bool
	var refused atomic.Int32
	often := make(chan struct{})
	config := rest.CopyConfig(w.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if !broken.Load() || r.URL.Path != "/apis" && r.URL.Path != "/api" {
				return next.RoundTrip(r)
			}
			if refused.Add(1) == 3 {
				close(often)
			}
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: r}, nil
		})
	})
	mapper, err := restmapping.New(restmapping.Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	w.run(func(o *engine.Options) { o.Mapper = mapper })
	w.verdict("wide", `"ready":true`)
	w.awaitRecord("wide", w.revisionOf(wideRule))
	broken.Store(true)
	w.define("Spur") // has discovery asked
	select {
	case <-often:
	case <-time.After(patience):
		t.Fatal("discovery is not asked")
	}
	w.delete(w.resource("Team"), w.home, "red")
	w.await(w.resource("Team"), w.home, "red", "says why it stays", func(obj *unstructured.Unstructured) bool {
		return w.holds("wide")(obj) && strings.Contains(conditionField(obj, "Ready", "message"), "Kind=Extra")
	})
	broken.Store(false)
	w.awaitGone(w.resource("Team"), w.home, "red")
}
