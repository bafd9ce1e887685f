package engine_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/internal/controlplanetest"
)

// An informer that starts or stops is not taken for Namespaces without labels.
func TestNamespaceSelectorOverARestartAndAnEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	env := "env-" + w.home
	w.patch(namespaces, "", w.home, `{"metadata":{"labels":{"`+env+`":"prod"}}}`)
	selecting := strings.ReplaceAll(note("x"), "kind: Note}", "kind: Note, namespaceSelector: {matchLabels: {"+env+": prod}}}")
	w.rule("note", selecting)
	stop := w.run()
	for _, name := range []string{"a", "b", "c", "d"} {
		w.parent("Note", name, "{}")
	}
	made := map[string]*unstructured.Unstructured{}
	for _, name := range []string{"a", "b", "c", "d"} {
		made[name] = w.await(configMaps, w.home, name, "is made", exists)
	}
	// The rule goes back and forth between having and not having a selector, and
	// the engine between running and not: no child is ever taken for superfluous.
	for i := range 6 {
		text := selecting
		if i%2 == 0 {
			text = note("x")
		}
		w.rule("note", strings.ReplaceAll(text, "{text: x}", "{text: \""+strings.Repeat("x", i+2)+"\"}"))
		w.await(configMaps, w.home, "d", "follows the rule", has(strings.Repeat("x", i+2), "data", "text"))
		if i == 3 {
			stop()
			stop = w.run()
		}
	}
	for name, before := range made {
		if after := w.get(configMaps, w.home, name); after.GetUID() != before.GetUID() {
			t.Errorf("%s was deleted and made again", name)
		}
	}
	for _, request := range w.requests.since(0) {
		if strings.HasPrefix(request, "DELETE") {
			t.Errorf("something was deleted: %s", request)
		}
	}
}

// While everything goes on at once, nothing is ever deleted that should be there:
// rules are edited, parents are edited, the engine restarts, all in one storm.
func TestNothingIsPrunedInAStorm(t *testing.T) {
	controlplanetest.Nightly(t)
	t.Parallel()
	w := newWorld(t, "Box", "Note")
	w.rule("box", boxRule)
	w.rule("note", note("x"))
	stop := w.run()
	names := []string{"a", "b", "c", "d", "e", "f"}
	made := map[string]string{}
	for _, name := range names {
		w.parent("Box", name, "{color: red}")
		w.parent("Note", name+"-note", "{}")
	}
	for _, name := range names {
		w.await(w.resource("Box"), w.home, name, "is ready", isTrue("Ready"))
		w.await(w.resource("Note"), w.home, name+"-note", "is ready", isTrue("Ready"))
		made[name] = string(w.get(services, w.home, name).GetUID())
	}
	end := time.Now().Add(8 * time.Second)
	for i := 0; time.Now().Before(end); i++ {
		color := "c" + strings.Repeat("x", i%50)
		switch i % 5 {
		case 0:
			w.rule("box", strings.ReplaceAll(boxRule, "{box: ", "{round: r"+color+", box: "))
		case 1:
			w.rule("box", "not: [yaml")
		case 2:
			w.rule("note", note(color))
		case 3:
			if i%20 == 3 {
				stop()
				stop = w.run()
			}
		case 4:
			list, err := w.at(w.resource("Box"), w.home).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range list.Items {
				w.patch(w.resource("Box"), w.home, item.GetName(), `{"spec":{"color":"`+color+`"}}`)
			}
		}
		<-time.After(time.Duration(i%7) * 20 * time.Millisecond)
	}
	w.rule("box", boxRule)
	for _, name := range names {
		w.patch(w.resource("Box"), w.home, name, `{"spec":{"color":"last"}}`)
		w.await(w.resource("Box"), w.home, name, "is calm", has("last", "status", "color"))
		if after := w.get(services, w.home, name); string(after.GetUID()) != made[name] {
			t.Errorf("the Service %s was deleted and made again", name)
		}
	}
	for _, request := range w.requests.since(0) {
		if strings.HasPrefix(request, "DELETE") {
			t.Errorf("something was deleted: %s", request)
		}
	}
}
