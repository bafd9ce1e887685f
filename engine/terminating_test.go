package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// A namespace that is going is waited out: it needs nobody to do anything.
func TestNamespaceThatIsGoing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition := w.definition("Note")
	if err := unstructured.SetNestedField(definition.Object, "Cluster", "spec", "scope"); err != nil {
		t.Fatal(err)
	}
	w.install(definition)
	w.rule("note", strings.ReplaceAll(note("x"), `"${parent.metadata.name}"`, `"${parent.metadata.name}", namespace: "${parent.spec.namespace}"`))
	w.run()
	w.verdict("note", `"ready":true`)

	going := "going-" + w.home
	create := func() {
		w.create(namespaces, w.object("apiVersion: v1\nkind: Namespace\nmetadata: {name: "+going+", finalizers: [example.com/hold]}\n"))
	}
	create()
	w.delete(namespaces, "", going)
	w.await(namespaces, "", going, "is going", func(obj *unstructured.Unstructured) bool {
		return field(obj, "status", "phase") == string(corev1.NamespaceTerminating)
	})
	w.create(w.resource("Note"), w.object("apiVersion: $GROUP/v1\nkind: Note\nmetadata: {name: "+w.home+"}\nspec: {namespace: "+going+"}\n"))
	held := w.await(w.resource("Note"), "", w.home, "is held up", isTrue("Reconciling"))
	if reason, message := conditionField(held, "Reconciling", "reason"), conditionField(held, "Reconciling", "message"); reason != "Terminating" || !strings.Contains(message, going) {
		t.Errorf("the condition says %s: %s", reason, message)
	}
	w.patch(namespaces, "", going, `{"metadata":{"finalizers":null}}`)
	w.awaitGone(namespaces, "", going)
	create()
	t.Cleanup(func() {
		_, _ = w.client.Resource(namespaces).Patch(context.Background(), going, types.MergePatchType, // the test's context has ended
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	w.await(w.resource("Note"), "", w.home, "is ready", isTrue("Ready"))
}

// A kind that a rule had children of and has no more can go away without holding
// up the rule, and without being asked for again and again.
func TestKindThatIsRetiredGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note", "Item")
	w.rule("item", itemRule)
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Item"), w.home, "n", "is made", exists)
	without, _, _ := strings.Cut(itemRule, "  - id: item")
	w.rule("item", without)
	w.awaitGone(w.resource("Item"), w.home, "n")
	w.undefine("Item")
	w.parent("Note", "m", "{}")
	w.await(w.resource("Note"), w.home, "m", "is ready", isTrue("Ready"))
	w.quiet()
	from := time.Now()
	<-time.After(5 * time.Second)
	for _, request := range w.requests.allSince(from) {
		if strings.Contains(request, "/items") {
			t.Errorf("the kind that is gone is still asked for: %s", request)
		}
	}
}
