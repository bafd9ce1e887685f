package engine_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// A tenant in these tests may write ConfigMaps in one namespace, under any field manager, and read all others.

// forgeries is how many objects a tenant makes: more than the prune guard lets go.
const forgeries = 12

// forge has a tenant make objects of their own that say all that a child of somebody else's parent says, and that do not go
// when they are deleted.
func (w *world) forge(victim *unstructured.Unstructured, namespace, prefix string, change func(*unstructured.Unstructured)) {
	w.t.Helper()
	for i := range forgeries {
		forged := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		forged.SetNamespace(namespace)
		forged.SetName(fmt.Sprintf("%s-%d", prefix, i))
		forged.SetLabels(victim.GetLabels())
		forged.SetAnnotations(victim.GetAnnotations())
		forged.SetFinalizers([]string{"tenant.example.com/hold"})
		change(forged)
		if _, err := w.at(configMaps, namespace).Create(w.t.Context(), forged, metav1.CreateOptions{FieldManager: fieldset.Manager}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.t.Cleanup(func() {
		for i := range forgeries {
			_ = w.merge(configMaps, namespace, fmt.Sprintf("%s-%d", prefix, i), `{"metadata":{"finalizers":null}}`)
		}
	})
}

// untouched fails unless forged objects are there and nobody deleted them.
func (w *world) untouched(namespace, prefix string) {
	w.t.Helper()
	for i := range forgeries {
		if obj := w.get(configMaps, namespace, fmt.Sprintf("%s-%d", prefix, i)); obj.GetDeletionTimestamp() != nil {
			w.t.Errorf("%s was deleted", obj.GetName())
		}
	}
}

// Objects that say that they are the children of somebody else's parent are nobody's: they are not deleted, no revision of
// the rule has to wait because of them, and the parent goes without them.
func TestForgedChildren(t *testing.T) {
	t.Parallel()
	w, tenants := wideWorld(t)
	w.rule("wide", wideRule)
	w.run()
	team := w.team("red", tenants)
	victim := w.get(configMaps, tenants, "red-far")
	w.forge(victim, tenants, "copied", func(*unstructured.Unstructured) {})
	w.forge(victim, tenants, "made-up", func(obj *unstructured.Unstructured) {
		id := mark.RuleID(w.kanon, w.kanon, "wide")
		obj.SetLabels(map[string]string{"kanon.dev/rule": id, "kanon.dev/parent-uid": string(team.GetUID()), "kanon.dev/node": "far"})
		obj.SetAnnotations(map[string]string{"kanon.dev/owner": fmt.Sprintf(
			`{"id":%q,"rule":%q,"node":"far","parent":{"group":%q,"kind":"Team","namespace":%q,"name":"red","uid":%q},"tracked":true,`+
				`"child":{"kind":"ConfigMap","namespace":%q,"name":%q}}`,
			id, w.kanon+"/wide", w.group, w.home, team.GetUID(), tenants, obj.GetName())})
	})

	// A revision that drops the node deletes one object, and is not held because of the others.
	w.rule("wide", strings.Replace(wideRule, "when: ${parent.spec.?far.orValue(true)}", "when: ${false}", 1))
	w.awaitGone(configMaps, tenants, "red-far")
	w.verdict("wide", `"ready":true`)
	w.quiet()
	w.untouched(tenants, "copied")
	w.untouched(tenants, "made-up")

	w.delete(w.resource("Team"), w.home, "red")
	w.awaitGone(w.resource("Team"), w.home, "red")
	w.untouched(tenants, "copied")
	w.untouched(tenants, "made-up")
}

// anywhereRule renders a ConfigMap, and patches one, as its parents say.
const anywhereRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: anywhere}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: config
    when: ${has(parent.spec.child)}
    adopt: true
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.spec.child.name}", namespace: "${parent.spec.child.namespace}", labels: "${parent.spec.child.?labels}"}
      data: {rule.yaml: "${parent.spec.text}"}
  patches:
  - id: config
    when: ${has(parent.spec.patch)}
    target: {apiVersion: v1, kind: ConfigMap, name: "${parent.spec.patch.name}", namespace: "${parent.spec.patch.namespace}"}
    template: {metadata: {labels: "${parent.spec.patch.?labels}"}, data: {rule.yaml: "${parent.spec.text}"}}
`

// Whoever may only write parents cannot have a rule write rules, or what Kanon keeps for itself, into Kanon's namespace.
func TestRulesDoNotWriteWhatKanonReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("anywhere", anywhereRule)
	w.run()
	w.verdict("anywhere", `"ready":true`)
	own := func(name string) *unstructured.Unstructured {
		return w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+", namespace: $KANON}\ndata: {a: b}\n"))
	}
	own("plain")
	w.quiet() // the record is whole
	before := map[string]string{}
	for _, name := range []string{"anywhere", w.recordOf("anywhere")} {
		before[name] = fmt.Sprint(w.get(configMaps, w.kanon, name).Object["data"])
	}
	text := `text: "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: mine}\nspec: {parent: {apiVersion: v1, kind: Namespace}}"`
	notes := w.resource("Note")
	for name, tt := range map[string]struct{ spec, refused, absent string }{
		"child-labelled":      {"child: {name: mine, namespace: $KANON, labels: {kanon.dev/rules: 'true'}}", "it has the label kanon.dev/rules", "mine"},
		"child-off":           {"child: {name: mine, namespace: $KANON, labels: {kanon.dev/rules: 'false'}}", "it has the label kanon.dev/rules", "mine"},
		"child-record":        {"child: {name: kanon-state-0123456789abcdef, namespace: $KANON}", "its name begins with kanon-state-", "kanon-state-0123456789abcdef"},
		"child-record-label":  {"child: {name: state, namespace: $KANON, labels: {kanon.dev/state: 'true'}}", "it has the label kanon.dev/state", "state"},
		"child-adopts-a-rule": {"child: {name: anywhere, namespace: $KANON}", "it has the label kanon.dev/rules", ""},
		"patch-labels":        {"patch: {name: plain, namespace: $KANON, labels: {kanon.dev/rules: 'true'}}", "it has the label kanon.dev/rules", ""},
		"patch-of-a-rule":     {"patch: {name: anywhere, namespace: $KANON}", "it has the label kanon.dev/rules", ""},
		"patch-of-a-record":   {"patch: {name: " + w.recordOf("anywhere") + ", namespace: $KANON}", "its name begins with kanon-state-", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			w.parent("Note", name, "{"+text+", "+w.expand(tt.spec)+"}")
			w.await(notes, w.home, name, "says that it is refused", func(obj *unstructured.Unstructured) bool {
				message := conditionField(obj, "Stalled", "message")
				return strings.Contains(message, "no rule may write Kanon's own objects, or what Kanon reads") && strings.Contains(message, tt.refused)
			})
			if tt.absent != "" {
				if _, err := w.at(configMaps, w.kanon).Get(t.Context(), tt.absent, metav1.GetOptions{}); err == nil {
					t.Errorf("%s was made", tt.absent)
				}
			}
		})
	}
	for name, data := range before {
		if now := fmt.Sprint(w.get(configMaps, w.kanon, name).Object["data"]); now != data {
			t.Errorf("%s has now %s", name, now)
		}
	}
	if labels := w.get(configMaps, w.kanon, "plain").GetLabels(); len(labels) > 0 {
		t.Errorf("plain has the labels %v", labels)
	}
	// What is nobody's business but the rule's may stand there, and a patch of it too.
	w.parent("Note", "fine", "{"+text+", "+w.expand("child: {name: fine, namespace: $KANON}, patch: {name: plain, namespace: $KANON}")+"}")
	w.await(configMaps, w.kanon, "fine", "is made", exists)
	w.await(configMaps, w.kanon, "plain", "is patched", func(obj *unstructured.Unstructured) bool { return field(obj, "data", "rule.yaml") != nil })
}

// rewriteRecord has somebody else change the record of a rule while Kanon does not run.
func (w *world) rewriteRecord(rule string, change func(record string) string) {
	w.t.Helper()
	w.update(configMaps, w.kanon, w.recordOf(rule), func(live *unstructured.Unstructured) {
		record, _ := field(live, "data", "record").(string)
		changed := change(record)
		if changed == record {
			w.t.Fatalf("nothing changes in %s", record)
		}
		if err := unstructured.SetNestedField(live.Object, changed, "data", "record"); err != nil {
			w.t.Fatal(err)
		}
	})
}

// A record that somebody else wrote does not have a removed rule delete its children.
func TestForgedRecordOfARemoval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", ending("note", "Orphan"))
	stop := w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	stop()
	w.rewriteRecord("note", func(record string) string {
		return strings.Replace(record, `"onRuleDeletion":"Orphan"`, `"onRuleDeletion":"Delete"`, 1)
	})
	w.delete(configMaps, w.kanon, "note")
	w.run()
	w.awaitGone(configMaps, w.kanon, w.recordOf("note"))
	w.quiet()
	for _, name := range []string{"n", "n-once"} {
		if w.get(configMaps, w.home, name).GetDeletionTimestamp() != nil {
			t.Errorf("%s was deleted", name)
		}
	}
}

// A key that is lost costs one write for each child that is rendered, and no child.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.rule("wide", wideRule)
	stop := w.run()
	w.team("red", elsewhere)
	children := map[string]string{"red-near": w.home, "red-far": elsewhere}
	before := map[string]*unstructured.Unstructured{}
	for name, namespace := range children {
		before[name] = w.get(configMaps, namespace, name)
	}
	stop()
	w.delete(secrets, w.kanon, "kanon-keys")
	w.run()
	for name, namespace := range children {
		now := w.await(configMaps, namespace, name, "has a new mark", func(obj *unstructured.Unstructured) bool {
			return obj.GetAnnotations()[mark.AnnotationApplied] != before[name].GetAnnotations()[mark.AnnotationApplied]
		})
		if now.GetUID() != before[name].GetUID() {
			t.Errorf("%s is another object", name)
		}
	}
	w.patch(w.resource("Team"), w.home, "red", `{"spec":{"size":"large"}}`)
	for name, namespace := range children {
		w.await(configMaps, namespace, name, "follows its parent", has("large", "data", "size"))
	}
	w.delete(w.resource("Team"), w.home, "red")
	w.awaitGone(w.resource("Team"), w.home, "red")
	w.awaitGone(configMaps, elsewhere, "red-far")
}
