package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/source"
)

// hasNoStatus holds for a parent about which nothing is said any more.
func hasNoStatus(obj *unstructured.Unstructured) bool {
	status, _ := field(obj, "status").(map[string]any)
	return len(status) == 0
}

// ending is a rule whose children have something of all that must be given back.
func ending(name, onRuleDeletion string) string {
	return strings.NewReplacer("name: note", "name: "+name, "spec:\n", "spec:\n  onRuleDeletion: "+onRuleDeletion+"\n").Replace(note("x")) +
		"  - id: once\n    updatePolicy: CreateOnly\n    template:\n      apiVersion: v1\n      kind: ConfigMap\n" +
		"      metadata: {name: \"${parent.metadata.name}-once\"}\n      data: {text: y}\n  status: {said: \"yes\"}\n"
}

// suspendedEnding is that rule, suspended.
func suspendedEnding(name, onRuleDeletion string) string {
	return strings.Replace(ending(name, onRuleDeletion), "spec:\n", "spec:\n  suspend: true\n", 1)
}

// withNote is a world with that rule and a parent of it, n, whose child n-once is made.
func withNote(t *testing.T, onRuleDeletion string) *world {
	t.Helper()
	w := newWorld(t, "Note")
	w.rule("note", ending("note", onRuleDeletion))
	w.run()
	w.parent("Note", "n", "{}")
	w.await(configMaps, w.home, "n-once", "is made", exists)
	return w
}

// A rule that is removed takes back what it said in the status of its parents,
// leaves their children, and is forgotten. It is the same when that happens while
// Kanon is away.
func TestRuleThatIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", ending("note", "Orphan"))
	w.rule("other", strings.NewReplacer("name: note", "name: other", "kind: Note", "kind: Box",
		`"${parent.metadata.name}"`, `"${parent.metadata.name}-other"`).Replace(note("o")))
	w.define("Box")
	stop := w.run()
	w.parent("Box", "b", "{}")
	w.await(configMaps, w.home, "b-other", "is made by the other rule", exists)
	for _, away := range []bool{false, true} {
		name := map[bool]string{false: "here", true: "away"}[away]
		w.parent("Note", name, "{}")
		w.await(w.resource("Note"), w.home, name, "is ready", isTrue("Ready"))
		if away {
			stop()
		}
		w.delete(configMaps, w.kanon, "note")
		if away {
			w.run()
		}
		w.await(w.resource("Note"), w.home, name, "has no status", hasNoStatus)
		w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
		w.quiet()
		w.get(configMaps, w.home, name)
		w.get(configMaps, w.home, name+"-once")
		w.get(configMaps, w.kanon, w.recordOf("other"))
		if !away {
			w.delete(w.resource("Note"), w.home, name)
			w.awaitGone(configMaps, w.home, name) // with its parent, as ever
			w.rule("note", ending("note", "Orphan"))
		}
	}
}

// What becomes of the children says the last text, also where the rule was suspended by it.
func TestSuspendedRuleThatIsRemoved(t *testing.T) {
	t.Parallel()
	for before, last := range map[string]string{"Delete": "Orphan", "Orphan": "Delete"} {
		t.Run(before+" before "+last, func(t *testing.T) {
			t.Parallel()
			w := withNote(t, before)
			w.rule("note", suspendedEnding("note", last))
			w.verdict("note", "suspended")
			w.delete(configMaps, w.kanon, "note")
			w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
			if w.quiet(); last == "Orphan" {
				w.get(configMaps, w.home, "n-once")
				return
			}
			w.awaitGone(configMaps, w.home, "n-once")
		})
	}
}

// A last text that does not compile brings no child to its end that the one before, or the text itself, keeps.
func TestRuleThatIsRemovedWhileItDoesNotCompile(t *testing.T) {
	t.Parallel()
	for before, last := range map[string]string{"Delete": "Orphan", "Orphan": "Delete"} {
		t.Run(before+" before "+last, func(t *testing.T) {
			t.Parallel()
			w := withNote(t, before)
			suspended := suspendedEnding("note", before)
			w.rule("note", suspended)
			w.verdict("note", "suspended")
			w.rule("note", strings.NewReplacer("{text: x}", `{text: "${children.nonesuch.data.x}"}`, "onRuleDeletion: "+before, "onRuleDeletion: "+last).Replace(suspended))
			w.verdict("note", "nonesuch")
			w.delete(configMaps, w.kanon, "note")
			w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
			w.quiet()
			w.get(configMaps, w.home, "n-once")
		})
	}
}

// A suspended rule may be the one that is gone, under a new name: nothing that it may want is deleted before it runs, and
// then it takes it over.
func TestSuspendedRuleThatIsRenamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	paused := func(name string) string { return suspendedEnding(name, "Delete") }
	// One that is not for the parent is in nobody's way.
	w.rule("apart", strings.Replace(paused("apart"), "kind: Note}", "kind: Note, selector: {matchLabels: {apart: \"yes\"}}}", 1))
	w.rule("note", ending("note", "Delete"))
	stop := w.run()
	w.parent("Note", "n", "{}")
	before := w.await(configMaps, w.home, "n-once", "is made", exists)
	w.rule("note", paused("note"))
	w.verdict("note", "suspended")
	w.rule("renamed", paused("renamed"))
	w.verdict("renamed", "suspended")
	w.delete(configMaps, w.kanon, "note")
	w.quiet()
	stop()
	w.run()
	w.quiet()
	w.get(configMaps, w.home, "n-once")
	w.rule("renamed", ending("renamed", "Delete"))
	w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
	now := w.await(configMaps, w.home, "n-once", "is the renamed rule's", func(obj *unstructured.Unstructured) bool {
		owner, ok := mark.ReadOwner(obj)
		return ok && owner.RuleID == mark.RuleID(w.kanon, w.kanon, "renamed")
	})
	if now.GetUID() != before.GetUID() {
		t.Error("n-once was created again")
	}
}

// With onRuleDeletion: Delete the children go too; but only where it is sure that the
// rule is gone.
func TestRuleThatIsRemovedWithItsChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", ending("note", "Delete"))
	w.texts("other", map[string]string{"a.yaml": "kind: [broken\n"})
	stop := w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))

	// What cannot be read may hold the rule: nothing happens, then or after a restart.
	w.delete(configMaps, w.kanon, "note")
	w.quiet()
	stop()
	stop = w.run()
	w.quiet()
	w.get(configMaps, w.home, "n")
	stop()

	// A process that does not read where the rule stood knows nothing of it.
	w.delete(configMaps, w.kanon, "other")
	elsewhere, err := source.NewFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stop = w.run(func(o *engine.Options) { o.Sources = []engine.Source{elsewhere} })
	w.quiet()
	w.get(configMaps, w.home, "n")
	stop()

	w.run()
	w.awaitGone(configMaps, w.home, "n")
	w.awaitGone(configMaps, w.home, "n-once")
	w.await(w.resource("Note"), w.home, "n", "has no status", hasNoStatus)
	w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
}

// A parent beside a rule in a directory is no mistake, and does not keep what the rule made.
func TestRuleThatIsRemovedBesideItsParent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	dir := t.TempDir()
	file := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(w.expand(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file("rule.yaml", ending("note", "Delete"))
	file("parent.yaml", "apiVersion: $GROUP/v1\nkind: Note\nmetadata: {name: n}\nspec: {}\n")
	files, err := source.NewFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	w.run(func(o *engine.Options) { o.Sources = []engine.Source{files} })
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	if err := os.Remove(filepath.Join(dir, "rule.yaml")); err != nil {
		t.Fatal(err)
	}
	w.awaitGone(configMaps, w.home, "n")
}

// A parent that is suspended keeps its children and its status until it is not, also
// when the rule goes.
func TestSuspendedParentOfARuleThatIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", ending("note", "Delete"))
	w.run()
	for _, name := range []string{"m", "n"} {
		w.parent("Note", name, "{}")
		w.await(w.resource("Note"), w.home, name, "is ready", isTrue("Ready"))
	}
	w.patch(w.resource("Note"), w.home, "n", `{"metadata":{"annotations":{"kanon.dev/suspend":"true"}}}`)
	// One that has nothing of the rule, and stays suspended, is in nobody's way.
	w.create(w.resource("Note"), w.object("apiVersion: $GROUP/v1\nkind: Note\nmetadata: {name: o, namespace: $HOME, annotations: {kanon.dev/suspend: \"true\"}}\nspec: {}\n"))
	w.quiet()
	w.delete(configMaps, w.kanon, "note")
	w.awaitGone(configMaps, w.home, "m")
	w.quiet()
	if n := w.get(w.resource("Note"), w.home, "n"); hasNoStatus(n) {
		t.Error("the suspended parent has no status")
	}
	w.get(configMaps, w.home, "n")
	w.get(configMaps, w.kanon, w.recordOf("note"))
	w.patch(w.resource("Note"), w.home, "n", `{"metadata":{"annotations":null}}`)
	w.awaitGone(configMaps, w.home, "n")
	w.await(w.resource("Note"), w.home, "n", "has no status", hasNoStatus)
	w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
}

// A removal that deletes waits until other rules for the same parents have looked at
// them all. One that was found after a restart does not wait for ever for a rule that
// had looked before that.
func TestRemovalBesideAnotherRuleOverARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", ending("note", "Delete"))
	w.rule("other", strings.NewReplacer("name: note", "name: other", `"${parent.metadata.name}"`, `"${parent.metadata.name}-other"`,
		"spec:\n", "spec:\n  conditionPrefix: Other\n").Replace(note("x")))
	stop := w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.await(w.resource("Note"), w.home, "n", "is ready for the other rule", isTrue("OtherReady"))
	w.quiet()
	stop()
	w.delete(configMaps, w.kanon, "note")
	w.run()
	w.awaitGone(configMaps, w.home, "n")
	w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
	w.get(configMaps, w.home, "n-other")
}

// A rule that is given another name takes over what it made under the old one:
// nothing is deleted, nothing is created again, and no name is found taken.
func TestRuleThatIsRenamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", ending("note", "Orphan"))
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	before := map[string]*unstructured.Unstructured{}
	for _, name := range []string{"n", "n-once"} {
		before[name] = w.get(configMaps, w.home, name)
	}
	from := w.requests.count()
	w.rule("note", ending("renamed", "Orphan"))
	for name, was := range before {
		now := w.await(configMaps, w.home, name, "is the renamed rule's", func(obj *unstructured.Unstructured) bool {
			owner, ok := mark.ReadOwner(obj)
			return ok && owner.RuleID == mark.RuleID(w.kanon, w.kanon, "renamed")
		})
		if now.GetUID() != was.GetUID() {
			t.Errorf("%s was created again", name)
		}
	}
	w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
	w.quiet()
	if ready := w.get(w.resource("Note"), w.home, "n"); !isTrue("Ready")(ready) || field(ready, "status", "said") != "yes" {
		t.Errorf("the parent is %v", field(ready, "status"))
	}
	for _, request := range w.requests.since(from) {
		if strings.HasPrefix(request, "DELETE ") && strings.Contains(request, w.home) || strings.HasSuffix(request, w.home+"/events") {
			t.Errorf("renaming the rule sent %s", request)
		}
	}
}

// A rule is renamed by a second rule first, and the removal of the first one, which deletes, after that: what both render is
// handed over as it is.
func TestRuleThatIsRenamedInTwoSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", ending("note", "Delete"))
	w.run()
	before := map[string]types.UID{}
	for i := range 20 {
		name := fmt.Sprint("n", i)
		w.parent("Note", name, "{}")
		w.await(w.resource("Note"), w.home, name, "is ready", isTrue("Ready"))
		before[name], before[name+"-once"] = w.uid(configMaps, name), w.uid(configMaps, name+"-once")
	}
	w.rule("second", ending("renamed", "Delete"))
	for i := range 20 {
		w.awaitEvent(w.home, fmt.Sprint("n", i), "NameTaken")
	}
	w.quiet()
	w.delete(configMaps, w.kanon, "note")
	w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
	w.quiet()
	for name, uid := range before {
		now := w.get(configMaps, w.home, name)
		if owner, ok := mark.ReadOwner(now); now.GetUID() != uid || now.GetDeletionTimestamp() != nil || !ok || owner.RuleID != mark.RuleID(w.kanon, w.kanon, "renamed") {
			t.Errorf("%s is not what it was, or not the renamed rule's", name)
		}
	}
}

// A rule that turns to another kind of parents lets go of those of the first.
func TestRuleWithAnotherKindOfParents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note", "Box")
	w.rule("note", note("x"))
	w.run()
	w.parent("Note", "n", "{}")
	w.parent("Box", "b", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.rule("note", strings.ReplaceAll(note("x"), "kind: Note", "kind: Box"))
	w.await(w.resource("Note"), w.home, "n", "has no status", hasNoStatus)
	w.await(w.resource("Box"), w.home, "b", "is ready", isTrue("Ready"))
	w.get(configMaps, w.home, "n")
	w.await(configMaps, w.kanon, w.recordOf("note"), "has one kind of parents", func(obj *unstructured.Unstructured) bool {
		text, _ := field(obj, "data", "record").(string)
		return strings.Contains(text, `"Box"`) && !strings.Contains(text, `"Note"`)
	})
	w.quiet()
}

// A rule that moves to another text, as it is, goes on.
func TestRuleThatMovesToAnotherText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("a", tagRule)
	w.run()
	w.parent("Note", "n", "{text: one}")
	w.await(namespaces, "", w.home, "is tagged", tag("n", "one"))
	w.rule("b", tagRule)
	w.verdict("b", "a rule's name must be unique")
	w.delete(configMaps, w.kanon, "a")
	w.verdict("b", `"ready":true`)
	w.awaitRecord("r", `"configMap":"b"`)
	w.patch(namespaces, "", w.home, `{"metadata":{"labels":{"note-n":null}}}`)
	w.await(namespaces, "", w.home, "is put right", tag("n", "one"))
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"two"}}`)
	w.await(namespaces, "", w.home, "follows its parent", tag("n", "two"))
	w.delete(w.resource("Note"), w.home, "n")
	w.await(namespaces, "", w.home, "is released", untagged("n"))
}
