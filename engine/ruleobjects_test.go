package engine_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/source"
)

var ruleObjects = schema.GroupVersionResource{Group: "kanon.dev", Version: "v1alpha1", Resource: "rules"}

// counts makes a condition for await: a Rule object says how many objects it has.
func counts(parents, children int64) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool {
		return isTrue("Ready")(obj) && field(obj, "status", "parents") == parents && field(obj, "status", "children") == children
	}
}

// defineRules installs the kind of Rule objects, and removes it at the end of the test. All tests share it, so a test
// that does not run in parallel with TestRuleObjects calls this. It returns the definition.
func (w *world) defineRules() *unstructured.Unstructured {
	w.t.Helper()
	text, err := os.ReadFile("../deploy/base/crd.yaml")
	if err != nil {
		w.t.Fatal(err)
	}
	definition := w.object(string(text))
	w.install(definition.DeepCopy())
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own has ended
		defer cancel()
		err := w.client.Resource(crds).Delete(ctx, "rules.kanon.dev", metav1.DeleteOptions{})
		for ; err == nil && ctx.Err() == nil; <-time.After(100 * time.Millisecond) { // it is not this test's alone
			_, err = w.client.Resource(crds).Get(ctx, "rules.kanon.dev", metav1.GetOptions{})
		}
	})
	return definition
}

// Rules can be objects of their own, whenever that kind is installed. Their status says
// how they fare and what they have; at rest and by a restart nothing is written. With
// the kind all of them go, and none counts as removed.
func TestRuleObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	// That the kind goes is told after the end of its objects, which comes later.
	config := rest.CopyConfig(w.config)
	delayWatchesOf(config, crds.Resource, time.Second)
	late, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	withObjects := func(o *engine.Options) { o.Sources = append(o.Sources, source.NewRuleObjects(late, w.kanon)) }
	stop := w.run(withObjects)
	definition := w.defineRules()

	object := w.object(strings.NewReplacer("name: note}", "name: note, namespace: $KANON}", "spec:\n", "spec:\n  onRuleDeletion: Delete\n").Replace(note("first")))
	w.create(ruleObjects, object)
	w.await(ruleObjects, w.kanon, "note", "has nothing", counts(0, 0))
	for _, name := range []string{"m", "n"} {
		w.parent("Note", name, "{}")
		w.await(configMaps, w.home, name, "is made", has("first", "data", "text"))
	}
	w.await(ruleObjects, w.kanon, "note", "has two of each", counts(2, 2))
	w.quiet()
	stop()
	from := w.requests.count()
	stop = w.run(withObjects)
	w.awaitLook("m")
	w.quiet()
	for _, request := range w.requests.since(from) {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("after a restart: %s", request)
		}
	}

	stop()
	w.patch(ruleObjects, w.kanon, "note", `{"spec":{"pruneLimit":5}}`)
	if got := kstatus(t, w.get(ruleObjects, w.kanon, "note")); got != status.InProgressStatus {
		t.Errorf("a rule that was edited while Kanon was down is %s", got)
	}
	stop = w.run(withObjects)
	w.await(ruleObjects, w.kanon, "note", "is current", func(obj *unstructured.Unstructured) bool { return kstatus(t, obj) == status.CurrentStatus })

	w.patch(ruleObjects, w.kanon, "note", `{"spec":{"requeueAfter":"${parent.}"}}`)
	refused := w.await(ruleObjects, w.kanon, "note", "is refused", func(obj *unstructured.Unstructured) bool {
		return conditionStatus(obj, "Ready") == "False"
	})
	if message := conditionField(refused, "Ready", "message"); !strings.Contains(message, `rule/`+w.kanon+`/note: spec.requeueAfter: error: `) {
		t.Errorf("the condition says %s", message)
	}
	w.awaitEvent(w.kanon, "note", "RulesRefused")
	w.patch(ruleObjects, w.kanon, "note", `{"spec":{"requeueAfter":null,"pruneLimit":0,"parent":{"selector":{"matchLabels":{"use":"yes"}}}}}`)
	held := w.await(ruleObjects, w.kanon, "note", "is held", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Ready", "reason") == "PruneHeld"
	})
	_, revision, _ := strings.Cut(conditionField(held, "Ready", "message"), `kanon.dev/confirm-prune: "`)
	revision, _, _ = strings.Cut(revision, `"`)
	w.delete(w.resource("Note"), w.home, "m")
	w.awaitGone(configMaps, w.home, "m")
	w.get(configMaps, w.home, "n")

	// With the kind go the objects; this is no way to remove rules.
	w.patch(ruleObjects, w.kanon, "note", `{"spec":{"parent":{"selector":null}}}`)
	w.await(ruleObjects, w.kanon, "note", "is in force", counts(1, 1))
	w.delete(crds, "", "rules.kanon.dev")
	w.awaitGone(crds, "", "rules.kanon.dev")
	w.quiet()
	made := w.get(configMaps, w.home, "n").GetUID()
	stays := func(when string) {
		t.Helper()
		if w.quiet(); w.get(configMaps, w.home, "n").GetUID() != made {
			t.Errorf("%s the child is another one", when)
		}
	}
	// It comes back, without the objects.
	w.install(definition)
	stays("when the kind is there again")
	w.delete(crds, "", "rules.kanon.dev")
	w.awaitGone(crds, "", "rules.kanon.dev")
	stop()
	stop = w.run(withObjects)
	stays("after a restart without the kind")
	w.install(definition)
	stays("when the kind comes after the restart")
	w.create(ruleObjects, object.DeepCopy())
	w.await(ruleObjects, w.kanon, "note", "is in force", counts(1, 1))
	stays("when the object is there again")
	w.patch(ruleObjects, w.kanon, "note", `{"metadata":{"annotations":{"kanon.dev/confirm-prune":"`+revision+`"}},"spec":{"pruneLimit":0,"parent":{"selector":{"matchLabels":{"use":"yes"}}}}}`)
	w.awaitGone(configMaps, w.home, "n")
	w.patch(ruleObjects, w.kanon, "note", `{"spec":{"parent":{"selector":null}}}`)
	w.await(configMaps, w.home, "n", "is made again", exists)
	w.delete(ruleObjects, w.kanon, "note")
	w.awaitGone(configMaps, w.home, "n")
	w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
	stop()
}
