package engine_test

import (
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kstatus returns what Flux and other tools take an object for.
func kstatus(t *testing.T, obj *unstructured.Unstructured) status.Status {
	t.Helper()
	result, err := status.Compute(obj)
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// generationWorld has a kind Note of which the status has observedGeneration.
func generationWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	definition := w.definition("Note")
	fields, _ := statusSchema(t, definition)["properties"].(map[string]any)
	fields["observedGeneration"] = map[string]any{"type": "integer", "format": "int64"}
	w.install(definition)
	return w
}

// While Kanon has not seen the last change of a parent, other tools take the parent for one in progress. After a restart
// with nothing to do, nothing is written.
func TestToolsSeeThatKanonLags(t *testing.T) {
	t.Parallel()
	w := generationWorld(t)
	w.rule("note", note("x"))
	stop := w.run()
	notes := w.resource("Note")
	w.parent("Note", "n", "{}")
	isCurrent := func(obj *unstructured.Unstructured) bool { return kstatus(t, obj) == status.CurrentStatus }
	w.await(notes, w.home, "n", "is current", func(obj *unstructured.Unstructured) bool {
		return isCurrent(obj) && field(obj, "status", "observedGeneration") == obj.GetGeneration()
	})
	w.quiet()
	stop()

	w.patch(notes, w.home, "n", `{"spec":{"text":"edited"}}`)
	if got := kstatus(t, w.get(notes, w.home, "n")); got != status.InProgressStatus {
		t.Errorf("a parent that was edited while Kanon was down is %s", got)
	}
	stop = w.run()
	w.await(notes, w.home, "n", "is current", isCurrent)
	w.quiet()
	stop()

	before := w.requests.count()
	w.run()
	w.awaitLook("n")
	w.quiet()
	if got := w.writesSince(before, "notes"); len(got) > 0 {
		t.Errorf("a restart wrote %q", got)
	}
}

// The generation that a rule or somebody else reports stays.
func TestGenerationOfOthers(t *testing.T) {
	t.Parallel()
	w := generationWorld(t)
	notes := w.resource("Note")
	w.parent("Note", "n", "{}")
	if err := w.merge(notes, w.home, "n", `{"status":{"observedGeneration":41}}`, "status"); err != nil {
		t.Fatal(err)
	}
	w.rule("note", note("x"))
	w.run()
	ready := w.await(notes, w.home, "n", "is ready", isTrue("Ready"))
	if got := field(ready, "status", "observedGeneration"); got != int64(41) {
		t.Errorf("the generation of another controller has become %v", got)
	}
	w.rule("note", note("x")+"  status: {observedGeneration: 7}\n")
	w.parent("Note", "m", "{}")
	w.await(notes, w.home, "m", "has what the rule says", has(int64(7), "status", "observedGeneration"))

	// A prefix says that the kind has a controller of its own.
	w.rule("note", strings.Replace(note("x"), "spec:\n", "spec:\n  conditionPrefix: Web\n", 1))
	w.parent("Note", "o", "{}")
	other := w.await(notes, w.home, "o", "is ready", isTrue("WebReady"))
	if got := field(other, "status", "observedGeneration"); got != nil {
		t.Errorf("a rule with a prefix writes the generation: %v", got)
	}
}
