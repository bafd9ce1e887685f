package engine_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func adopting(text string) string {
	return strings.Replace(note(text), "    template:", "    adopt: true\n    template:", 1)
}

// A name that is taken is left alone until the rule says that it adopts; then the
// object is the parent's, keeps what else is in it, and goes with the parent.
func TestAdopt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	stranger := w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: $HOME}\ndata: {text: theirs, other: theirs}\n"))
	w.rule("note", note("ours"))
	w.run()
	parent := w.parent("Note", "web", "{}")
	stalled := w.await(w.resource("Note"), w.home, "web", "is stalled", isTrue("Stalled"))
	if got := conditionField(stalled, "Stalled", "message"); !strings.HasSuffix(got, "Kanon does not change it, unless the child has adopt: true") {
		t.Errorf("the condition says %q", got)
	}

	w.rule("note", adopting("ours"))
	w.await(w.resource("Note"), w.home, "web", "is ready", isTrue("Ready"))
	w.awaitEvent(w.home, "web", "Adopted")
	live := w.get(configMaps, w.home, "web")
	if live.GetUID() != stranger.GetUID() || !metav1.IsControlledBy(live, parent) {
		t.Errorf("it is not the object that was there, or not the parent's: %v", live.Object["metadata"])
	}
	if text, other := field(live, "data", "text"), field(live, "data", "other"); text != "ours" || other != "theirs" {
		t.Errorf("data is %v", live.Object["data"])
	}
	from := w.requests.count()
	w.quiet()
	if got := w.requestsAtHome(from); len(got) > 1 { // the Event
		t.Errorf("requests at rest: %q", got)
	}
	w.delete(w.resource("Note"), w.home, "web")
	w.awaitGone(configMaps, w.home, "web")
}

// What somebody claims is not adopted: another object's, another parent's of the same
// rule, or what the parent itself belongs to.
func TestAdoptNothingOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	rule := strings.ReplaceAll(adopting("ours"), `name: "${parent.metadata.name}"`, `name: "${parent.spec.config}"`)
	w.rule("note", rule)
	w.run()
	w.parent("Note", "first", "{config: shared}")
	w.await(w.resource("Note"), w.home, "first", "is ready", isTrue("Ready"))
	w.parent("Note", "second", "{config: shared}")
	stalled := w.await(w.resource("Note"), w.home, "second", "is stalled", isTrue("Stalled"))
	if got := conditionField(stalled, "Stalled", "message"); !strings.Contains(got, "belongs to rule "+w.kanon+"/note for Note") {
		t.Errorf("the condition says %q", got)
	}

	owner := w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: above, namespace: $HOME}\n"))
	third := w.object("apiVersion: $GROUP/v1\nkind: Note\nmetadata: {name: third, namespace: $HOME}\nspec: {config: above}\n")
	third.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "above", UID: owner.GetUID()}})
	w.create(w.resource("Note"), third)
	stalled = w.await(w.resource("Note"), w.home, "third", "is stalled", isTrue("Stalled"))
	if got := conditionField(stalled, "Stalled", "message"); !strings.Contains(got, "it owns the parent") {
		t.Errorf("the condition says %q", got)
	}
	if live := w.get(configMaps, w.home, "above"); live.GetResourceVersion() != owner.GetResourceVersion() {
		t.Error("what owns the parent was written to")
	}
}
