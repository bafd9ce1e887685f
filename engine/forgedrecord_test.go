package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/source"
)

// deletes returns the requests since n that delete something other than a record.
func (w *world) deletes(n int) []string {
	var found []string
	for _, request := range w.requests.since(n) {
		if strings.HasPrefix(request, "DELETE ") && !strings.Contains(request, "kanon-state-") {
			found = append(found, request)
		}
	}
	return found
}

// setData has somebody else set entries of a ConfigMap in Kanon's namespace; nil removes an entry.
func (w *world) setData(name string, data map[string]any) {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		w.t.Fatal(err)
	}
	w.patch(configMaps, w.kanon, name, string(body))
}

// named returns a rule with a child of its own for each Note.
func named(name, onRuleDeletion string) string {
	return strings.NewReplacer("name: note", "name: "+name, "spec:\n", "spec:\n  conditionPrefix: "+strings.ToUpper(name[:1])+"\n  onRuleDeletion: "+onRuleDeletion+"\n",
		`"${parent.metadata.name}"`, `"${parent.metadata.name}-`+name+`"`).Replace(note("x"))
}

// A record with the seal of another rule permits nothing: neither that its removal deletes the children, nor that a
// revision does.
func TestRecordOfAnotherRule(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"whose text is removed": func(w *world) { w.delete(configMaps, w.kanon, "careful") },
		"with a new revision": func(w *world) {
			w.rule("careful", strings.NewReplacer("kind: Note}", "kind: Note, selector: {matchLabels: {use: 'yes'}}}",
				"spec:\n", "spec:\n  pruneLimit: 0\n").Replace(named("careful", "Delete")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Note")
			w.rule("bold", named("bold", "Delete"))
			w.rule("careful", named("careful", "Orphan"))
			stop := w.run()
			w.parent("Note", "n", "{}")
			w.await(configMaps, w.home, "n-bold", "is made", exists)
			child := w.await(configMaps, w.home, "n-careful", "is made", exists)
			w.quiet()
			stop()
			sealed, _ := field(w.get(configMaps, w.kanon, w.recordOf("bold")), "data").(map[string]any)
			w.setData(w.recordOf("careful"), sealed)
			change(w)
			from := w.requests.count()
			w.run()
			w.verdict("bold", `"ready":true`)
			w.awaitLook("n")
			w.quiet()
			if deleted := w.deletes(from); len(deleted) > 0 {
				t.Errorf("something was deleted: %v", deleted)
			}
			if w.get(configMaps, w.home, "n-careful").GetUID() != child.GetUID() {
				t.Error("the child is another one")
			}
		})
	}
}

// What the seal of a record does not cover is for people: it neither permits a deletion that the prune guard blocks nor
// has a rule count as removed.
func TestForgedEntriesBesideTheRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	strict := func(text string) string {
		return strings.Replace(text, "spec:\n", "spec:\n  pruneLimit: 0\n  onRuleDeletion: Delete\n", 1)
	}
	w.rule("note", strict(note("x")))
	stop := w.run()
	w.parent("Note", "n", "{}")
	child := w.await(configMaps, w.home, "n", "is made", exists)
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	narrow := strict(strings.Replace(note("x"), "kind: Note}", "kind: Note, selector: {matchLabels: {use: 'yes'}}}", 1))
	w.rule("note", narrow)
	w.verdict("note", "PruneHeld")
	w.await(configMaps, w.kanon, w.recordOf("note"), "lists the child", func(obj *unstructured.Unstructured) bool {
		text, _ := field(obj, "data", "blocked").(string)
		return strings.Contains(text, w.home+"/n")
	})
	w.quiet()
	stop()
	for name, data := range map[string]map[string]any{
		"nothing is blocked":       {"blocked": nil, "held": nil, "report": `{"ready":true,"message":""}`},
		"something else is":        {"blocked": `{"revision":"` + w.revisionOf(narrow) + `","reason":"would delete nothing","objects":[]}`, "held": "nothing"},
		"the rule is removed":      {"removal": "it is being removed"},
		"removed, nothing blocked": {"removal": "it is being removed", "blocked": nil},
	} {
		from := w.requests.count()
		w.setData(w.recordOf("note"), data)
		stop = w.run()
		w.await(configMaps, w.kanon, w.recordOf("note"), "has the true entries again", func(obj *unstructured.Unstructured) bool {
			text, _ := field(obj, "data", "blocked").(string)
			return strings.Contains(text, w.home+"/n") && field(obj, "data", "removal") == nil
		})
		w.quiet()
		if deleted := w.deletes(from); len(deleted) > 0 || w.get(configMaps, w.home, "n").GetUID() != child.GetUID() {
			t.Errorf("%s: something was deleted: %v", name, deleted)
		}
		if !strings.Contains(w.verdict("note", "PruneHeld"), w.revisionOf(narrow)) {
			t.Errorf("%s: the revision is no longer blocked", name)
		}
		stop()
	}
}

const taggingRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: tagging}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  patches:
  - id: tag-data
    target: {apiVersion: v1, kind: ConfigMap, name: target}
    template: {data: {ours: "yes"}}
`

// A record without a seal names patches by their ids, and no field managers. So it has Kanon relinquish no field of
// another tool, nor, if it has a name that is not of its rule, one of another rule.
func TestForgedPatchesInARecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.create(configMaps, w.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: target, namespace: $HOME}}"))
	w.rule("tagging", taggingRule)
	stop := w.run()
	w.parent("Note", "n", "{}")
	w.await(configMaps, w.home, "target", "is patched", has("yes", "data", "ours"))
	theirs := w.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: target, namespace: $HOME}, data: {theirs: 'yes'}}")
	if _, err := w.at(configMaps, w.home).Apply(t.Context(), "target", theirs, metav1.ApplyOptions{FieldManager: "helm"}); err != nil {
		t.Fatal(err)
	}
	w.quiet()
	stop()
	before := w.get(configMaps, w.home, "target")

	// More patches in the record of the rule, which loses its seal by that.
	w.rewriteRecord("tagging", func(record string) string {
		return strings.Replace(record, `"patches":[`,
			`"patches":[{"id":"helm","version":"v1","kind":"ConfigMap"},{"id":"../helm","version":"v1","kind":"ConfigMap"},`, 1)
	})
	// A rule that never existed, with a record whose name makes its patch "data" the patch "tag-data" of the other rule.
	forged := w.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + w.recordOf("tagging") + "-tag, namespace: $KANON, labels: {kanon.dev/state: 'true'}}}")
	forged.Object["data"] = map[string]any{"record": w.expand(`{"format":1,"rule":"$KANON/gone","origin":{"namespace":"$KANON","configMap":"gone"},` +
		`"parents":[{"group":"$GROUP","version":"v1","kind":"Note"}],"patches":[{"id":"data","version":"v1","kind":"ConfigMap"}],"onRuleDeletion":"Delete"}`)}
	w.create(configMaps, forged)
	from := w.requests.count()
	w.run()
	w.await(configMaps, w.kanon, w.recordOf("tagging"), "has only the rule's patches again", func(obj *unstructured.Unstructured) bool {
		record, _ := field(obj, "data", "record").(string)
		return !strings.Contains(record, "helm")
	})
	w.awaitLook("n")
	w.quiet()
	if now := w.get(configMaps, w.home, "target"); now.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("the target was written: %v", w.requests.since(from))
	}
	if deleted := w.deletes(from); len(deleted) > 0 {
		t.Errorf("something was deleted: %v", deleted)
	}
}

// A record without a seal that names another origin does not have the children of a rule deleted that exists, or that
// is removed.
func TestForgedOriginInARecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", ending("note", "Delete"))
	stop := w.run()
	w.parent("Note", "n", "{}")
	child := w.await(configMaps, w.home, "n", "is made", exists)
	w.quiet()
	for _, removed := range []bool{false, true} {
		stop()
		w.rewriteRecord("note", func(record string) string {
			return strings.Replace(record, `"configMap":"note"`, `"configMap":"gone"`, 1)
		})
		if removed {
			w.delete(configMaps, w.kanon, "note")
		}
		from := w.requests.count()
		stop = w.run()
		if removed {
			w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
		} else {
			w.awaitRecord("note", `"configMap":"note"`)
		}
		w.quiet()
		if deleted := w.deletes(from); len(deleted) > 0 || w.get(configMaps, w.home, "n").GetUID() != child.GetUID() {
			t.Errorf("removed: %t: something was deleted: %v", removed, deleted)
		}
	}
}

// A report that a tenant writes to a ConfigMap with rules does not count for what its rules may delete.
func TestForgedReportOfATenant(t *testing.T) {
	t.Parallel()
	v := newTenant(t, func(*engine.Options) {})
	strict := strings.Replace(tenantNote, "spec:\n", "spec:\n  pruneLimit: 0\n", 1)
	v.tenantRule("note", strict)
	v.parent("Note", "n", "{}")
	child := v.await(configMaps, v.home, "n", "is made", exists)
	v.reports("note", `"ready":true`)
	good := v.get(configMaps, v.home, "note").GetAnnotations()[source.AnnotationStatus]

	narrow := strings.Replace(strict, "kind: Note}", "kind: Note, selector: {matchLabels: {use: 'yes'}}}", 1)
	from := v.requests.count()
	for i, status := range []string{good, strings.ReplaceAll(good, `"ready":true`, `"ready":true,"confirmed":"`+v.revisionOf(narrow)+`"`), "no JSON", "{}"} {
		text := narrow + strings.Repeat("# again\n", i)
		v.update(configMaps, v.home, "note", func(live *unstructured.Unstructured) {
			live.SetAnnotations(map[string]string{source.AnnotationStatus: status})
			live.Object["data"] = map[string]any{"rule.yaml": v.expand(text)}
		})
		v.reports("note", "PruneHeld")
		v.quiet()
		if deleted := v.deletes(from); len(deleted) > 0 || v.get(configMaps, v.home, "n").GetUID() != child.GetUID() {
			t.Errorf("with the report %s something was deleted: %v", status, deleted)
		}
	}
}
