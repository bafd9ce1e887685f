package engine_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Two rules that say different things in one field of a status: one has it, the
// other says so, and they do not take it from one another for ever.
func TestTwoRulesWithOneStatusField(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	other := strings.NewReplacer("name: note", "name: other", `"${parent.metadata.name}"`, `"${parent.metadata.name}-other"`,
		"spec:\n", "spec:\n  conditionPrefix: Other\n").Replace(note("other"))
	const status = "  status: {text: \"${children.config.data.text}\"}\n"
	w.texts("both", map[string]string{"one.yaml": note("one") + status, "other.yaml": other + status})
	w.run()
	w.verdict("both", `"ready":true`)
	w.parent("Note", "n", "{}")
	stalled := w.await(w.resource("Note"), w.home, "n", "is stalled by one rule", func(obj *unstructured.Unstructured) bool {
		return isTrue("Stalled")(obj) || isTrue("OtherStalled")(obj)
	})
	loser := ""
	if isTrue("OtherStalled")(stalled) {
		loser = "Other"
	}
	if got := conditionField(stalled, loser+"Stalled", "message"); !strings.HasPrefix(got, "status.text: rule ") {
		t.Errorf("the condition says %q", got)
	}
	// RetryMax is 2 s.
	if got, tries := w.during(8*time.Second, 2*time.Second); len(got) > tries+1 {
		t.Errorf("%d requests for %d tries: %q", len(got), tries, got)
	}

	// The winner goes, and the other has its say.
	w.texts("both", map[string]string{"rule.yaml": map[string]string{"": note("one"), "Other": other}[loser] + status})
	w.await(w.resource("Note"), w.home, "n", "is ready by the rule that is left", func(obj *unstructured.Unstructured) bool {
		return isTrue(loser+"Ready")(obj) && field(obj, "status", "text") == map[string]string{"": "one", "Other": "other"}[loser]
	})
}

// What a Secret holds is not told, also when it is refused.
func TestRefusedSecretIsNotTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", strings.NewReplacer("kind: ConfigMap", "kind: Secret", "data: {text: x}", `stringData: {pin: "${parent.spec.pin}"}`).Replace(note("x")))
	w.run()
	w.parent("Note", "n", "{pin: 4711042}")
	stalled := w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	message := conditionField(stalled, "Stalled", "message")
	if strings.Contains(message, "4711042") || !strings.Contains(message, "pin") {
		t.Errorf("the condition tells the Secret, or does not name the field: %s", message)
	}
	w.rule("note", strings.NewReplacer("kind: ConfigMap", "kind: Secret", "data: {text: x}", `data: {pin: "${parent.spec.pin}"}`).Replace(note("x")))
	w.parent("Note", "m", "{pin: 'not base64: 4711042'}")
	stalled = w.await(w.resource("Note"), w.home, "m", "is stalled", isTrue("Stalled"))
	message = conditionField(stalled, "Stalled", "message")
	if strings.Contains(message, "4711042") || !strings.Contains(message, "template.data.pin") {
		t.Errorf("the condition tells the Secret, or does not name the field: %s", message)
	}
}
