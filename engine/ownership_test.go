package engine_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/internal/controlplanetest"
)

// wideRule makes a Zone, which has no namespace, of each Team, and one ConfigMap in
// another namespace and one beside the Team.
const wideRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: wide}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Team}
  children:
  - id: near
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-near"}
      data: {size: "${parent.spec.size}"}
  - id: far
    when: ${parent.spec.?far.orValue(true)}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-far", namespace: "${parent.spec.elsewhere}"}
      data: {size: "${parent.spec.size}"}
  - id: zone
    when: ${parent.spec.?far.orValue(true)}
    readyWhen: ${true}
    template:
      apiVersion: $GROUP/v1
      kind: Zone
      metadata: {name: "$HOME-${parent.metadata.name}"}
      spec: {size: "${parent.spec.size}"}
`

// wideWorld has the kinds of wideRule, and a second namespace.
func wideWorld(t *testing.T) (w *world, elsewhere string) {
	t.Helper()
	w = newWorld(t)
	zone := w.definition("Zone")
	if err := unstructured.SetNestedField(zone.Object, "Cluster", "spec", "scope"); err != nil {
		t.Fatal(err)
	}
	w.install(zone)
	w.define("Team")
	return w, controlplanetest.Namespace(t, w.config)
}

// team creates a Team of which all children exist when it returns.
func (w *world) team(name, elsewhere string) *unstructured.Unstructured {
	w.t.Helper()
	w.parent("Team", name, "{size: small, elsewhere: "+elsewhere+"}")
	return w.await(w.resource("Team"), w.home, name, "is ready", isTrue("Ready"))
}

// finalizerOf is what the rule of that name holds parents with.
func (w *world) finalizerOf(rule string) string {
	return "kanon.dev/rule-" + mark.RuleID(w.kanon, w.kanon, rule)
}

func (w *world) holds(rule string) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool {
		return slices.Contains(obj.GetFinalizers(), w.finalizerOf(rule))
	}
}

// Children in other namespaces and in none are made, followed, put right and ended
// with their parent, which a finalizer holds until they are gone.
func TestChildrenAcrossScopes(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.rule("wide", wideRule)
	w.run()
	w.verdict("wide", `"ready":true`)
	teams, zones := w.resource("Team"), w.resource("Zone")
	w.team("first", elsewhere) // has the schemas loaded

	before := w.requests.count()
	team := w.team("red", elsewhere)
	got := slices.DeleteFunc(w.requests.since(before), func(r string) bool {
		return strings.Contains(r, "/"+w.kanon+"/") // what is remembered of the rule, at some time after its start
	})
	if len(got) != 5 || !strings.HasSuffix(got[0], "/teams/red") {
		t.Errorf("a new parent with three children took %q, want the finalizer first, three creations and a status", got)
	}
	if !w.holds("wide")(team) {
		t.Errorf("the finalizers are %v, want one of the rule", team.GetFinalizers())
	}
	if near := w.get(configMaps, w.home, "red-near"); !mark.RefersTo(near, team.GetUID()) {
		t.Error("the child beside its parent has no owner reference")
	}
	far, zone := w.get(configMaps, elsewhere, "red-far"), w.get(zones, "", w.home+"-red")
	if len(far.GetOwnerReferences())+len(zone.GetOwnerReferences()) > 0 {
		t.Errorf("owner references that the garbage collector takes for wrong: %v, %v", far.GetOwnerReferences(), zone.GetOwnerReferences())
	}

	w.patch(zones, "", w.home+"-red", `{"spec":{"size":"huge"}}`)
	w.await(zones, "", w.home+"-red", "is put right", has("small", "spec", "size"))
	w.patch(teams, w.home, "red", `{"spec":{"size":"large"}}`)
	w.await(configMaps, elsewhere, "red-far", "follows", has("large", "data", "size"))
	w.await(zones, "", w.home+"-red", "follows", has("large", "spec", "size"))

	w.patch(teams, w.home, "red", `{"metadata":{"finalizers":null}}`)
	w.await(teams, w.home, "red", "is held again", w.holds("wide"))

	// A copy of the labels is no proof of anything.
	w.create(configMaps, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "copy", "namespace": elsewhere, "labels": field(far, "metadata", "labels")},
	}})
	w.quiet()
	before = w.requests.count()
	w.delete(teams, w.home, "red")
	w.awaitGone(teams, w.home, "red")
	w.awaitGone(configMaps, w.home, "red-near")
	for _, request := range w.requests.since(before) {
		if !strings.HasPrefix(request, "DELETE") && !strings.HasPrefix(request, "GET") && !strings.HasSuffix(request, "PATCH "+"/apis/"+w.group+"/v1/namespaces/"+w.home+"/teams/red") {
			t.Errorf("a parent that is being deleted took %s", request)
		}
	}
	for _, gone := range []func() error{
		func() error {
			_, err := w.at(configMaps, elsewhere).Get(t.Context(), "red-far", metav1.GetOptions{})
			return err
		},
		func() error {
			_, err := w.at(zones, "").Get(t.Context(), w.home+"-red", metav1.GetOptions{})
			return err
		},
	} {
		if gone() == nil {
			t.Error("a child outlived its parent")
		}
	}
	w.get(configMaps, elsewhere, "copy")
	w.get(configMaps, elsewhere, "first-far")
}

// A finalizer goes when no child needs it any more: because of the parent, of the
// rule, or because the rule is for the parent no longer; also while Kanon is away.
func TestFinalizerThatIsNotNeededGoes(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	selective := strings.ReplaceAll(wideRule, "kind: Team}", "kind: Team, selector: {matchExpressions: [{key: 'off', operator: DoesNotExist}]}}")
	w.rule("wide", selective)
	stop := w.run()
	teams := w.resource("Team")
	for _, name := range []string{"changed", "left", "later", "gone", "rule", "dropped"} {
		w.team(name, elsewhere)
	}
	free := func(name string) {
		w.t.Helper()
		w.await(teams, w.home, name, "is free", func(obj *unstructured.Unstructured) bool { return len(obj.GetFinalizers()) == 0 })
	}
	w.patch(teams, w.home, "changed", `{"spec":{"far":false}}`)
	w.awaitGone(configMaps, elsewhere, "changed-far")
	free("changed")
	w.get(configMaps, w.home, "changed-near")

	w.patch(teams, w.home, "left", `{"metadata":{"labels":{"off":""}}}`)
	w.awaitGone(configMaps, elsewhere, "left-far")
	free("left")

	stop()
	w.patch(teams, w.home, "later", `{"metadata":{"labels":{"off":""}}}`)
	w.patch(teams, w.home, "gone", `{"metadata":{"labels":{"off":""}}}`)
	bare := func(name string) {
		w.delete(configMaps, elsewhere, name+"-far")
		w.delete(configMaps, w.home, name+"-near")
		w.delete(w.resource("Zone"), "", w.home+"-"+name)
	}
	bare("gone")
	stop = w.run()
	w.awaitGone(configMaps, elsewhere, "later-far")
	free("later")
	free("gone") // which has neither label nor children by which it is found

	// The rule needs none any more, and one that it holds leaves the selector, while Kanon is away.
	stop()
	w.patch(teams, w.home, "dropped", `{"metadata":{"labels":{"off":""}}}`)
	bare("dropped")
	near, _, _ := strings.Cut(selective, "  - id: far")
	w.rule("wide", near)
	w.run()
	w.awaitGone(w.resource("Zone"), "", w.home+"-rule")
	free("rule")
	free("dropped")
}

// What keeps a child is told, and waited for in silence.
func TestChildThatCannotGo(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.rule("wide", wideRule)
	soon := func(o *engine.Options) { o.WaitLimit = time.Second }
	stop := w.run(soon)
	teams := w.resource("Team")
	w.team("red", elsewhere)
	w.team("blue", elsewhere)
	w.patch(configMaps, elsewhere, "red-far", `{"metadata":{"finalizers":["example.com/backup"]}}`)
	w.patch(teams, w.home, "blue", suspend)
	w.quiet()

	w.delete(teams, w.home, "blue")
	w.deleteWith(metav1.DeletePropagationForeground, teams, "red")
	stuck := w.await(teams, w.home, "red", "says what it waits for", func(obj *unstructured.Unstructured) bool {
		return strings.Contains(conditionField(obj, "Reconciling", "message"), "example.com/backup")
	})
	if reason := conditionField(stuck, "Ready", "reason"); reason != "Deleting" {
		t.Errorf("the reason is %q, want Deleting", reason)
	}
	w.awaitEvent(w.home, "red", "Deleting")
	w.awaitGone(w.resource("Zone"), "", w.home+"-red")
	w.quiet()
	w.get(teams, w.home, "red")
	stop()
	w.run(soon)
	w.awaitGone(teams, w.home, "red") // nothing tells any more that the deletion was in the foreground
	w.quiet()
	w.get(configMaps, elsewhere, "blue-far") // its parent is suspended
	w.patch(configMaps, elsewhere, "red-far", `{"metadata":{"finalizers":null}}`)
	w.awaitGone(configMaps, elsewhere, "red-far")

	w.patch(teams, w.home, "blue", resume)
	w.awaitGone(teams, w.home, "blue")
	w.awaitGone(configMaps, elsewhere, "blue-far")

	// One that is let go by hand leaves its children to the next of its name.
	first := w.team("green", elsewhere)
	w.patch(teams, w.home, "green", suspend)
	w.delete(teams, w.home, "green")
	w.quiet()
	w.patch(teams, w.home, "green", `{"metadata":{"finalizers":null}}`)
	w.awaitGone(teams, w.home, "green")
	w.quiet()
	w.get(configMaps, elsewhere, "green-far")
	second := w.team("green", elsewhere)
	if owner, _ := mark.ReadOwner(w.get(configMaps, elsewhere, "green-far")); owner.Parent.UID != second.GetUID() || first.GetUID() == second.GetUID() {
		t.Errorf("the child belongs to %s, want the second parent", owner.Parent.UID)
	}
}

// A parent is not let go on the strength of a list that failed.
func TestListThatFailsHoldsTheParent(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.rule("wide", wideRule)
	var broken atomic.Bool
	var refused atomic.Int32
	config := rest.CopyConfig(w.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if broken.Load() && strings.HasSuffix(r.URL.Path, "/zones") && strings.Contains(r.URL.Query().Get("labelSelector"), mark.LabelParentUID) {
				refused.Add(1)
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: r}, nil
			}
			return next.RoundTrip(r)
		})
	})
	client, err := watch.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w.run(func(o *engine.Options) { o.Client = client })
	w.team("red", elsewhere)
	broken.Store(true)
	w.delete(w.resource("Team"), w.home, "red")
	w.await(w.resource("Team"), w.home, "red", "says why it stays", func(obj *unstructured.Unstructured) bool {
		return strings.Contains(conditionField(obj, "Ready", "message"), "list zones")
	})
	if refused.Load() == 0 {
		t.Error("nothing was listed")
	}
	broken.Store(false)
	w.awaitGone(w.resource("Team"), w.home, "red")
}

// A rule that is removed leaves no finalizer: not on a parent that lives, whose
// children stay, and not on one that is being deleted, whose children go.
func TestRemovedRuleLetsItsParentsGo(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.rule("wide", wideRule)
	w.run()
	teams := w.resource("Team")
	w.team("stays", elsewhere)
	w.team("goes", elsewhere)
	w.patch(configMaps, elsewhere, "goes-far", `{"metadata":{"finalizers":["example.com/backup"]}}`)
	w.delete(teams, w.home, "goes")
	w.awaitGone(w.resource("Zone"), "", w.home+"-goes")
	w.delete(configMaps, w.kanon, "wide")
	w.await(teams, w.home, "stays", "is free", func(obj *unstructured.Unstructured) bool { return len(obj.GetFinalizers()) == 0 })
	w.patch(configMaps, elsewhere, "goes-far", `{"metadata":{"finalizers":null}}`)
	w.awaitGone(teams, w.home, "goes")
	w.get(configMaps, elsewhere, "stays-far")
}

func TestStrangersAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	w.run()
	stranger := w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: red-config, namespace: $HOME}\ndata: {color: mine}\n"))
	w.parent("Box", "red", "{color: red}")

	stalled := w.await(w.resource("Box"), w.home, "red", "is stalled", isTrue("Stalled"))
	if got := conditionField(stalled, "Stalled", "reason"); got != "NameTaken" {
		t.Errorf("the reason is %q", got)
	}
	if message := conditionField(stalled, "Stalled", "message"); !strings.Contains(message, "child config") || !strings.Contains(message, "red-config") {
		t.Errorf("the message names neither the node nor the object: %q", message)
	}
	w.awaitEvent(w.home, "red", "NameTaken")
	w.await(services, w.home, "red", "is made all the same", exists)
	live := w.get(configMaps, w.home, "red-config")
	if field(live, "data", "color") != "mine" || live.GetResourceVersion() != stranger.GetResourceVersion() {
		t.Errorf("the stranger's object was touched: %v", live.Object)
	}

	// It heals once the cause is gone, without anybody touching the parent.
	w.delete(configMaps, w.home, "red-config")
	w.await(configMaps, w.home, "red-config", "is the rule's", has("red", "data", "color"))
	healed := w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	if conditionStatus(healed, "Stalled") != "" {
		t.Error("a healed parent still has the condition Stalled")
	}
}
