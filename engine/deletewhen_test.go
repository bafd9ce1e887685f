package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A parent is deleted when its time has come, without a timer or an event, and what
// comes due because of a new revision is held when it is much.
func TestDeleteWhen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	text := strings.ReplaceAll(note("x"), "spec:\n", "spec:\n  deleteWhen: ${now >= timestamp(parent.spec.until)}\n")
	w.rule("note", text)
	w.run()
	at := func(d time.Duration) string {
		return fmt.Sprintf("{until: %q}", time.Now().Add(d).UTC().Format(time.RFC3339))
	}
	w.parent("Note", "later", at(time.Hour))
	w.await(w.resource("Note"), w.home, "later", "is ready", isTrue("Ready"))
	soon := ""
	for seen, in := false, 2*time.Second; !seen; in *= 2 { // longer where it was over before anybody looked
		soon = "soon-" + strings.ToLower(in.String())
		w.parent("Note", soon, at(in))
		w.awaitAny(w.resource("Note"), w.home, "metadata.name="+soon, soon+" is ready or gone", func(obj *unstructured.Unstructured) bool {
			seen = obj != nil && isTrue("Ready")(obj)
			return seen || obj == nil
		})
	}
	w.awaitGone(w.resource("Note"), w.home, soon)
	w.awaitEvent(w.home, soon, "Deleted")
	w.awaitGone(configMaps, w.home, soon)
	w.patch(w.resource("Note"), w.home, "later", `{"metadata":{"annotations":{"kanon.dev/suspend":"true"}},"spec":{"until":"2026-01-01T00:00:00Z"}}`)
	w.quiet()
	w.get(w.resource("Note"), w.home, "later")
	w.patch(w.resource("Note"), w.home, "later", `{"metadata":{"annotations":null}}`)
	w.awaitGone(w.resource("Note"), w.home, "later")

	const parents = 11
	for i := range parents {
		w.parent("Note", fmt.Sprintf("n-%02d", i), at(time.Hour))
	}
	for i := range parents {
		w.await(w.resource("Note"), w.home, fmt.Sprintf("n-%02d", i), "is ready", isTrue("Ready"))
	}
	all := strings.ReplaceAll(text, "timestamp(parent.spec.until)", `timestamp("2026-01-01T00:00:00Z")`)
	w.rule("note", all)
	verdict := w.verdict("note", "PruneHeld")
	if want := "would delete 11 objects, and pruneLimit is 10: Note." + w.group + " " + w.home + "/n-00"; !strings.Contains(verdict, want) {
		t.Errorf("the verdict lacks %q: %s", want, verdict)
	}
	w.quiet()
	w.get(w.resource("Note"), w.home, "n-00")
	w.confirm(w.revisionOf(all))
	for i := range parents {
		w.awaitGone(w.resource("Note"), w.home, fmt.Sprintf("n-%02d", i))
	}
	w.verdict("note", `"ready":true`)
}
