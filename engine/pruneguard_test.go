package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules/syntax"
)

var claims = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

// revisionOf is what the rule in a text is confirmed by.
func (w *world) revisionOf(text string) string {
	w.t.Helper()
	docs, findings := syntax.Decode("rule.yaml", []byte(w.expand(text)))
	if len(docs.Rules) != 1 {
		w.t.Fatalf("%v", findings)
	}
	return docs.Rules[0].Hash()
}

// confirm annotates the rule ConfigMap note.
func (w *world) confirm(value string) {
	w.t.Helper()
	w.patch(configMaps, w.kanon, "note", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, syntax.AnnotationConfirmPrune, value))
}

// configs counts the ConfigMaps at home whose names begin so.
func (w *world) configs(prefix string) int {
	w.t.Helper()
	list, err := w.at(configMaps, w.home).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, obj := range list.Items {
		if strings.HasPrefix(obj.GetName(), prefix) {
			n++
		}
	}
	return n
}

// A revision that would delete more than its limit waits, over a restart too, until a parent is deleted with what it would lose,
// or until somebody confirms the revision.
func TestRevisionThatWouldDeleteMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	limit := func(n int, text string) string {
		return strings.Replace(text, "spec:\n", fmt.Sprintf("spec:\n  pruneLimit: %d\n", n), 1)
	}
	w.rule("note", limit(1, note("x")))
	stop := w.run()
	for _, name := range []string{"n-0", "n-1"} {
		w.parent("Note", name, "{}")
	}
	w.awaitAllReady()

	// No parent has the label that the selector asks for: all children would be deleted, and no status may be removed either.
	unselect := func(text string) string {
		return strings.Replace(text, "kind: Note}", "kind: Note, selector: {matchLabels: {use: 'yes'}}}", 1)
	}
	unselecting := limit(1, unselect(note("x")))
	w.rule("note", unselecting)
	revision := w.revisionOf(unselecting)
	verdict := w.verdict("note", "PruneHeld")
	for _, want := range []string{"would delete 2 objects", "pruneLimit is 1", "ConfigMap " + w.home + "/n-0", `kanon.dev/confirm-prune: "` + revision} {
		if !strings.Contains(jsonText(verdict), want) {
			t.Errorf("the verdict lacks %q: %s", want, verdict)
		}
	}
	w.awaitAny(events, w.kanon, "involvedObject.name=note,reason=PruneHeld", "an Event says what to do", func(obj *unstructured.Unstructured) bool {
		if obj == nil {
			return false
		}
		message, _ := field(obj, "message").(string)
		return strings.Contains(message, `kanon.dev/confirm-prune: "`+revision+`"`) && strings.Contains(message, "2 objects")
	})
	stop()
	stop = w.run()
	w.verdict("note", "PruneHeld")
	w.quiet()
	if n := w.configs("n-"); n != 2 {
		t.Fatalf("%d children are left of 2", n)
	}
	if !isTrue("Ready")(w.get(w.resource("Note"), w.home, "n-0")) {
		t.Error("a parent lost its status")
	}

	// Another name for every child: the new children are created, and the old ones stay.
	renaming := strings.ReplaceAll(note("x"), `"${parent.metadata.name}"`, `"m-${parent.metadata.name}"`)
	w.rule("note", limit(1, renaming))
	w.verdict("note", "PruneHeld")
	w.await(configMaps, w.home, "m-n-1", "is created", exists)
	w.delete(w.resource("Note"), w.home, "n-1")
	w.verdict("note", `"ready":true`)
	w.awaitGone(configMaps, w.home, "n-0")
	w.awaitGone(configMaps, w.home, "n-1")

	w.confirm("none") // confirms nothing
	w.rule("note", limit(0, unselect(renaming)))
	w.verdict("note", "PruneHeld")
	stop()
	w.confirm("other, " + w.revisionOf(limit(0, unselect(renaming))))
	w.run()
	w.verdict("note", `"ready":true`)
	w.awaitGone(configMaps, w.home, "m-n-0")
	w.await(w.resource("Note"), w.home, "n-0", "has no status", hasNoStatus)
}

func jsonText(verdict string) string {
	var report struct{ Rules []struct{ Message string } }
	if err := json.Unmarshal([]byte(verdict), &report); err != nil || len(report.Rules) == 0 {
		return ""
	}
	return report.Rules[0].Message
}

// A volume is not deleted before somebody confirms the revision. A rule in a file is confirmed by its own annotation, which
// makes no new revision of it.
func TestRevisionThatWouldDeleteAVolume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	const volume = `  - id: volume
    template:
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {name: "${parent.metadata.name}"}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		next := filepath.Join(dir, "next")
		if err := os.WriteFile(next, []byte(w.expand(text)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(dir, "rule.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	write(note("x") + volume)
	files, err := source.NewFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	w.run(func(o *engine.Options) { o.Sources = []engine.Source{files} })
	w.parent("Note", "n", "{}")
	made := w.await(claims, w.home, "n", "is created", exists)
	w.awaitRecord("note", w.revisionOf(note("x")+volume))
	write(note("y"))
	w.await(configMaps, w.home, "n", "follows the rule", has("y", "data", "text"))
	// A file is no object, so the rule's record says so.
	w.await(configMaps, w.kanon, w.recordOf("note"), "says what is blocked", func(obj *unstructured.Unstructured) bool {
		blocked, _ := field(obj, "data", "held").(string)
		return strings.HasPrefix(blocked, "PruneHeld") && strings.Contains(blocked, "PersistentVolumeClaim "+w.home+"/n")
	})
	w.awaitEvent(w.kanon, w.recordOf("note"), "PruneHeld")
	w.quiet()
	busy := 0
	for range 20 {
		if !w.engine.Idle() {
			busy++ // a kind of another test may have come
		}
		<-time.After(5 * time.Millisecond) // that it goes on sends nothing
	}
	if busy > 10 {
		t.Error("the engine has something to do while the revision is held")
	}
	if w.get(claims, w.home, "n").GetDeletionTimestamp() != nil {
		t.Error("the volume was deleted")
	}
	confirmed := strings.ReplaceAll(note("y"), "metadata: {name: note}",
		"metadata: {name: note, annotations: {kanon.dev/confirm-prune: '"+w.revisionOf(note("y"))+"'}}")
	if w.revisionOf(confirmed) != w.revisionOf(note("y")) {
		t.Error("the annotation makes a new revision")
	}
	write(confirmed)
	w.await(claims, w.home, "n", "goes", func(obj *unstructured.Unstructured) bool {
		return obj.GetDeletionTimestamp() != nil && obj.GetUID() == made.GetUID()
	})
	w.patch(claims, w.home, "n", `{"metadata":{"finalizers":null}}`)
	w.awaitGone(claims, w.home, "n")
	w.awaitEvent(w.kanon, w.recordOf("note"), "RulesAccepted")
	w.await(configMaps, w.kanon, w.recordOf("note"), "says nothing of it any more", func(obj *unstructured.Unstructured) bool {
		return field(obj, "data", "held") == nil
	})
}

// A rule in a file is suspended, resumed and confirmed by annotations of its record, over a restart too. For other rules they do not
// count, which package catalog tests.
func TestAnnotationsOfTheRecordOfAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	path := filepath.Join(t.TempDir(), "rule.yaml")
	limited := func(text string) string { return strings.Replace(text, "spec:\n", "spec:\n  pruneLimit: 0\n", 1) }
	unselecting := limited(strings.Replace(note("x"), "kind: Note}", "kind: Note, selector: {matchLabels: {use: 'yes'}}}", 1))
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(w.expand(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func() (stop func()) {
		t.Helper()
		files, err := source.NewFiles(path)
		if err != nil {
			t.Fatal(err)
		}
		return w.run(func(o *engine.Options) { o.Sources = []engine.Source{files} })
	}
	annotate := func(key, value string) {
		t.Helper()
		w.patch(configMaps, w.kanon, w.recordOf("note"), fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value))
	}
	reports := func(message string) {
		t.Helper()
		w.await(configMaps, w.kanon, w.recordOf("note"), "reports "+message, func(obj *unstructured.Unstructured) bool {
			report, _ := field(obj, "data", "report").(string)
			return strings.Contains(report, message)
		})
	}
	write(limited(note("x")))
	stop := run()
	w.parent("Note", "n", "{}")
	w.awaitAllReady()
	w.awaitRecord("note", w.revisionOf(limited(note("x"))))

	annotate(conditions.AnnotationSuspend, `"true"`)
	reports(source.MessageSuspendedByRecord)
	stop()
	w.delete(configMaps, w.home, "n")
	stop = run()
	w.quiet()
	if w.configs("n") != 0 {
		t.Error("a suspended rule was run after a restart")
	}
	annotate(conditions.AnnotationSuspend, "null")
	w.await(configMaps, w.home, "n", "is created again", exists)
	reports("running")

	write(unselecting)
	reports("PruneHeld")
	annotate(syntax.AnnotationConfirmPrune, `"0123456789abcdef"`) // of no revision
	w.quiet()
	w.get(configMaps, w.home, "n")
	stop()
	annotate(syntax.AnnotationConfirmPrune, fmt.Sprintf("%q", w.revisionOf(unselecting)))
	run()
	w.awaitGone(configMaps, w.home, "n")
	reports("running")
}

// Without its record a rule counts as a new revision: nobody knows whether a parent has changed meanwhile, or the rule.
func TestRuleWithoutItsRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	text := strings.NewReplacer("spec:\n", "spec:\n  pruneLimit: 0\n", "  - id: config\n", "  - id: config\n    when: ${parent.spec.keep}\n").Replace(note("x"))
	w.rule("note", text)
	for _, forgotten := range []bool{false, true} {
		name := fmt.Sprintf("n-%t", forgotten)
		stop := w.run()
		w.parent("Note", name, "{keep: true}")
		w.await(w.resource("Note"), w.home, name, "is ready", isTrue("Ready"))
		w.awaitRecord("note", w.revisionOf(text))
		stop()
		w.patch(w.resource("Note"), w.home, name, `{"spec":{"keep":false}}`)
		if !forgotten {
			stop = w.run()
			w.awaitGone(configMaps, w.home, name)
			stop()
			continue
		}
		w.delete(configMaps, w.kanon, w.recordOf("note"))
		w.run()
		w.verdict("note", "PruneHeld")
		w.get(configMaps, w.home, name)
	}
}
