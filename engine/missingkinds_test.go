package engine_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// partsRule makes ConfigMaps and an Item of each Note: one that is independent of the
// Item, one for each of spec.parts, one that reads the Item, and one that comes after it.
const partsRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: parts}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}, data: {text: "${parent.spec.?text.orValue('')}"}}
  - id: item
    readyWhen: ${true}
    template: {apiVersion: $GROUP/v1, kind: Item, metadata: {name: "${parent.metadata.name}"}, spec: {text: x}}
  - id: other
    readyWhen: ${true}
    template: {apiVersion: $GROUP/v1, kind: Item, metadata: {name: "${parent.metadata.name}-other"}, spec: {text: x}}
  - id: parts
    forEach: [{name: part, in: "${parent.spec.?parts.orValue([])}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}-${part}"}}
  - id: reader
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}-reader"}, data: {uid: "${children.item.metadata.uid}"}}
  - id: after
    dependsOn: [item]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}-after"}}
`

// lacksKind holds for a parent that says that a kind is missing, and names text.
func lacksKind(text string) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool {
		return conditionStatus(obj, "Reconciling") == "True" && conditionField(obj, "Reconciling", "reason") == "KindMissing" &&
			strings.Contains(conditionField(obj, "Reconciling", "message"), text)
	}
}

// configWrites lists the writes to ConfigMaps at home since the first n requests.
func (w *world) configWrites(n int) []string {
	var found []string
	for _, request := range w.requests.since(n) {
		if !strings.HasPrefix(request, "GET ") && strings.Contains(request, "/namespaces/"+w.home+"/configmaps") {
			found = append(found, request)
		}
	}
	return found
}

// TestMissingKindOfAChild holds that a child whose kind is missing waits, and what
// depends on it, and nothing else: at the rule's start, and when the kind goes away and
// comes back. Nothing is deleted meanwhile.
func TestMissingKindOfAChild(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("parts", partsRule)
	w.run()
	note := w.resource("Note")
	w.parent("Note", "n", `{text: one, parts: [a, b]}`)
	w.await(configMaps, w.home, "n", "is made", has("one", "data", "text"))
	w.await(configMaps, w.home, "n-b", "is made", exists)
	w.await(note, w.home, "n", "says what is missing", lacksKind("the cluster has no kind Item"))
	if verdict := w.verdict("parts", "has no kind Item"); !strings.Contains(verdict, `"ready":true`) || !strings.Contains(verdict, "KN0401") {
		t.Errorf("the verdict is not that of a rule in force, with a warning: %s", verdict)
	}

	// What is not wanted any more stays as long as the parent is not up to date.
	w.patch(note, w.home, "n", `{"spec":{"text":"two","parts":["a"]}}`)
	w.await(configMaps, w.home, "n", "follows its parent", has("two", "data", "text"))
	w.quiet()
	w.get(configMaps, w.home, "n-b")

	before := w.requests.count()
	w.define("Item")
	w.await(w.resource("Item"), w.home, "n", "is made", exists)
	w.await(note, w.home, "n", "is ready", isTrue("Ready"))
	w.awaitGone(configMaps, w.home, "n-b")
	w.get(configMaps, w.home, "n-reader")
	w.get(configMaps, w.home, "n-after")
	for _, write := range w.configWrites(before) {
		if strings.HasSuffix(write, "/n") || strings.HasSuffix(write, "/n-a") {
			t.Errorf("a child was written that has nothing to do with the kind: %s", write)
		}
	}

	// The kind goes, and comes back.
	before = w.requests.count()
	w.undefine("Item")
	w.await(note, w.home, "n", "says what is missing", lacksKind("the cluster has no kind Item"))
	w.verdict("parts", "has no kind Item")
	w.parent("Note", "m", `{text: one}`)
	w.await(configMaps, w.home, "m", "is made", exists)
	w.patch(note, w.home, "n", `{"spec":{"text":"three"}}`)
	w.await(configMaps, w.home, "n", "follows its parent", has("three", "data", "text"))
	reader := w.get(configMaps, w.home, "n-reader")

	w.define("Item")
	w.await(w.resource("Item"), w.home, "n", "is created again", exists)
	w.await(w.resource("Item"), w.home, "m", "is made", exists)
	w.await(note, w.home, "n", "is ready again", isTrue("Ready"))
	w.await(note, w.home, "m", "is ready", isTrue("Ready"))
	if after := w.get(configMaps, w.home, "n-reader"); after.GetUID() != reader.GetUID() {
		t.Error("a child that reads the one of the missing kind was deleted and made again")
	}
	writes := map[string]int{}
	for _, write := range w.configWrites(before) {
		verb, path, _ := strings.Cut(write, " ")
		if verb == "DELETE" {
			t.Errorf("something was deleted: %s", write)
		}
		writes[path[strings.LastIndexByte(path, '/')+1:]]++
	}
	if writes["n"] != 1 || writes["n-a"] != 0 || writes["n-reader"] > 1 {
		t.Errorf("the other children of n were written to %d, %d and %d times, want 1, 0 and at most 1", writes["n"], writes["n-a"], writes["n-reader"])
	}
}

// TestOptionalChildOfAMissingKind holds that a child that is optional is skipped while
// its kind is missing: its parent is ready, and nobody is warned.
func TestOptionalChildOfAMissingKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	rule := strings.NewReplacer(
		"- id: item\n", "- id: item\n    optional: true\n",
		"- id: other\n", "- id: other\n    optional: true\n",
		"${children.item.metadata.uid}", "${children.?item.metadata.uid.orValue('none')}",
	).Replace(partsRule)
	w.rule("parts", rule)
	w.run()
	note := w.resource("Note")
	w.parent("Note", "n", `{parts: [a, b]}`)
	w.await(note, w.home, "n", "is ready", isTrue("Ready"))
	w.await(configMaps, w.home, "n-reader", "knows of none", has("none", "data", "uid"))
	w.get(configMaps, w.home, "n-after")
	if verdict := w.verdict("parts", `"ready":true`); strings.Contains(verdict, "KN0401") {
		t.Errorf("the verdict has a warning: %s", verdict)
	}
	w.patch(note, w.home, "n", `{"spec":{"parts":["a"]}}`)
	w.awaitGone(configMaps, w.home, "n-b") // nothing is held

	w.define("Item")
	item := w.await(w.resource("Item"), w.home, "n", "is made", exists)
	w.await(configMaps, w.home, "n-reader", "knows of it", has(string(item.GetUID()), "data", "uid"))
	w.undefine("Item")
	w.await(configMaps, w.home, "n-reader", "knows of none again", has("none", "data", "uid"))
	w.await(note, w.home, "n", "is ready", isTrue("Ready"))
}

// seesRule patches Items, looks them up, and does something else.
const seesRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: sees}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  lookups:
  - {id: item, apiVersion: $GROUP/v1, kind: Item, name: "${parent.metadata.name}"}
  - {id: perhaps, apiVersion: $GROUP/v1, kind: Item, name: "${parent.metadata.name}", optional: true}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}, data: {perhaps: "${string(lookups.perhaps != null)}"}}
  - id: reader
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}-reader"}, data: {text: "${lookups.item.spec.text}"}}
  patches:
  - id: tag
    target: {apiVersion: $GROUP/v1, kind: Item, name: "${parent.metadata.name}"}
    template: {metadata: {labels: {tagged: "yes"}}}
  - id: home
    target: {apiVersion: v1, kind: ConfigMap, name: target}
    template: {metadata: {labels: {tagged: "yes"}}}
`

// TestMissingKindOfAPatchAndALookup holds that a patch whose target's kind is missing
// waits and holds up nothing, and a lookup as well; an optional lookup finds nothing.
func TestMissingKindOfAPatchAndALookup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("sees", seesRule)
	w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: target, namespace: $HOME}\n"))
	w.run()
	note := w.resource("Note")
	tagged := has("yes", "metadata", "labels", "tagged")
	w.parent("Note", "n", `{}`)
	w.await(configMaps, w.home, "n", "is made", has("false", "data", "perhaps"))
	w.await(configMaps, w.home, "target", "is patched", tagged)
	w.await(note, w.home, "n", "says what the patch waits for", lacksKind("patch tag: the cluster has no kind Item"))
	w.await(note, w.home, "n", "says what the lookup waits for", lacksKind("(in lookups.item)"))

	w.define("Item")
	item := w.object("apiVersion: $GROUP/v1\nkind: Item\nmetadata: {name: \"n\", namespace: $HOME}\nspec: {text: x}\n")
	w.create(w.resource("Item"), item)
	w.await(w.resource("Item"), w.home, "n", "is patched", tagged)
	w.await(configMaps, w.home, "n-reader", "is made", has("x", "data", "text"))
	w.await(configMaps, w.home, "n", "sees the optional one", has("true", "data", "perhaps"))
	w.await(note, w.home, "n", "is ready", isTrue("Ready"))

	before := w.requests.count()
	w.undefine("Item")
	w.await(configMaps, w.home, "n", "sees none", has("false", "data", "perhaps"))
	w.await(note, w.home, "n", "says what the patch waits for", lacksKind("patch tag: the cluster has no kind Item"))
	w.define("Item")
	w.create(w.resource("Item"), item)
	w.await(w.resource("Item"), w.home, "n", "is patched again", tagged)
	w.await(note, w.home, "n", "is ready again", isTrue("Ready"))
	for _, write := range w.configWrites(before) {
		if strings.HasSuffix(write, "/target") || strings.HasPrefix(write, "DELETE ") {
			t.Errorf("%s: nothing is to be done there", write)
		}
	}
}

// TestOptionalPatchAndLookupOfAMissingKind holds that an optional patch is skipped while the kind of its target is
// missing, and an optional lookup finds nothing: the parent is ready and prunes, nobody is warned, and the other patches
// go on. When the kind comes, the target is patched.
func TestOptionalPatchAndLookupOfAMissingKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("sees", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: sees}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  lookups:
  - {id: item, apiVersion: $GROUP/v1, kind: Item, name: "${parent.metadata.name}", optional: true}
  - {id: items, apiVersion: $GROUP/v1, kind: Item, selector: {}, optional: true}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}, data: {found: "${string(lookups.item != null)} ${lookups.items.size()}"}}
  - id: parts
    forEach: [{name: part, in: "${parent.spec.?parts.orValue([])}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}-${part}"}}
  patches:
  - id: tag
    optional: true
    target: {apiVersion: $GROUP/v1, kind: Item, name: "${parent.metadata.name}"}
    template: {metadata: {labels: {tagged: "${parent.spec.text}"}}}
  - id: all
    optional: true
    target: {apiVersion: $GROUP/v1, kind: Item, selector: {}}
    template: {metadata: {annotations: {tagged: "${parent.spec.text}"}}}
  - id: home
    target: {apiVersion: v1, kind: ConfigMap, name: target}
    template: {metadata: {labels: {tagged: "${parent.spec.text}"}}}
`)
	w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: target, namespace: $HOME}\n"))
	w.run()
	note, items := w.resource("Note"), w.resource("Item")
	tagged := func(text string) func(*unstructured.Unstructured) bool {
		return has(text, "metadata", "labels", "tagged")
	}
	w.parent("Note", "n", `{text: one, parts: [a, b, c]}`)
	w.await(configMaps, w.home, "n-c", "is made", exists)
	w.await(note, w.home, "n", "is ready", isTrue("Ready"))
	w.await(configMaps, w.home, "n", "finds none", has("false 0", "data", "found"))
	w.await(configMaps, w.home, "target", "is patched", tagged("one"))
	if verdict := w.verdict("sees", `"ready":true`); strings.Contains(verdict, "KN0401") {
		t.Errorf("the verdict has a warning: %s", verdict)
	}
	w.patch(note, w.home, "n", `{"spec":{"parts":["a","b"]}}`)
	w.awaitGone(configMaps, w.home, "n-c") // nothing is held

	// The kind comes.
	item := w.object("apiVersion: $GROUP/v1\nkind: Item\nmetadata: {name: \"n\", namespace: $HOME}\nspec: {text: x}\n")
	patched := func(text string) func(*unstructured.Unstructured) bool {
		return func(obj *unstructured.Unstructured) bool {
			return tagged(text)(obj) && has(text, "metadata", "annotations", "tagged")(obj)
		}
	}
	w.define("Item")
	w.create(items, item)
	w.await(items, w.home, "n", "is patched", patched("one"))
	w.await(configMaps, w.home, "n", "finds it", has("true 1", "data", "found"))
	w.await(note, w.home, "n", "is ready", isTrue("Ready"))

	// The kind goes.
	w.undefine("Item")
	w.await(configMaps, w.home, "n", "finds none again", has("false 0", "data", "found"))
	w.patch(note, w.home, "n", `{"spec":{"text":"two","parts":["a"]}}`)
	w.await(configMaps, w.home, "target", "follows", tagged("two"))
	w.awaitGone(configMaps, w.home, "n-b")
	w.await(note, w.home, "n", "is ready with what it is now", isReadyAt)
	if verdict := w.verdict("sees", `"ready":true`); strings.Contains(verdict, "KN0401") {
		t.Errorf("the verdict has a warning: %s", verdict)
	}

	// It comes back, and what is set then is restored when the parent goes.
	w.define("Item")
	w.create(items, item)
	w.await(items, w.home, "n", "is patched again", patched("two"))
	w.await(configMaps, w.home, "n", "finds it again", has("true 1", "data", "found"))
	w.await(note, w.home, "n", "is ready again", isReadyAt)
	w.delete(note, w.home, "n")
	w.await(items, w.home, "n", "is restored", func(obj *unstructured.Unstructured) bool {
		return !has("two", "metadata", "labels", "tagged")(obj) && !has("two", "metadata", "annotations", "tagged")(obj)
	})
}

// TestRemovedOptionalPatchOfAMissingKind holds that a rule with an optional patch can be changed and removed while the
// kind of the target is missing: nothing is left of it, and the removal ends.
func TestRemovedOptionalPatchOfAMissingKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note", "Item")
	rule := `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: tags}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  onRuleDeletion: Delete
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}}
`
	w.rule("tags", rule+`
  patches:
  - id: tag
    optional: true
    target: {apiVersion: $GROUP/v1, kind: Item, name: "${parent.metadata.name}"}
    template: {metadata: {labels: {tagged: "yes"}}}
`)
	w.run()
	note := w.resource("Note")
	w.create(w.resource("Item"), w.object("apiVersion: $GROUP/v1\nkind: Item\nmetadata: {name: \"n\", namespace: $HOME}\nspec: {text: x}\n"))
	w.parent("Note", "n", `{}`)
	w.await(w.resource("Item"), w.home, "n", "is patched", has("yes", "metadata", "labels", "tagged"))
	w.await(note, w.home, "n", "is ready", isTrue("Ready"))
	w.undefine("Item")
	w.patch(note, w.home, "n", `{"spec":{"text":"two"}}`)
	w.await(note, w.home, "n", "is ready without the kind", isReadyAt)
	w.delete(configMaps, w.kanon, "tags")
	w.awaitGone(configMaps, w.home, "n")
	w.awaitNone(configMaps, w.kanon, "kanon.dev/state=true")
}

// TestCleanupOfAMissingKind holds that a parent keeps the rule's finalizer while its
// cleanup has to make an object of a missing kind, says so, and goes when it can.
func TestCleanupOfAMissingKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("cleanup", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: cleanup}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}}
  finalize:
    children:
    - id: last
      readyWhen: ${true}
      template: {apiVersion: $GROUP/v1, kind: Item, metadata: {name: "${parent.metadata.name}"}, spec: {text: bye}}
    until: ${children.config.metadata.name != ""}
`)
	w.run()
	note := w.resource("Note")
	w.parent("Note", "n", `{}`)
	w.await(note, w.home, "n", "is ready", isTrue("Ready"))
	w.delete(note, w.home, "n")
	w.await(note, w.home, "n", "says what it waits for", func(obj *unstructured.Unstructured) bool {
		return strings.Contains(conditionField(obj, "Reconciling", "message"), "child last: the cluster has no kind Item")
	})
	w.get(configMaps, w.home, "n")
	w.define("Item")
	w.awaitGone(note, w.home, "n")
	w.awaitGone(configMaps, w.home, "n")
	made := false
	for _, request := range w.requests.since(0) {
		made = made || strings.HasPrefix(request, "POST ") && strings.HasSuffix(request, "/items")
	}
	if !made {
		t.Error("the parent went without its cleanup")
	}
}

// TestTwoVersionsOfAMissingKind holds that a version that is no longer served is not
// taken for a kind that is gone: its objects exist in the other version, so the parent
// keeps the finalizer, an optional child waits, and nothing is deleted unasked when the
// version comes back.
func TestTwoVersionsOfAMissingKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	two := w.definition("Item")
	versions, _, err := unstructured.NestedSlice(two.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	old := (&unstructured.Unstructured{Object: versions[0].(map[string]any)}).DeepCopy().Object
	old["name"], old["storage"] = "v1old", false
	if err := unstructured.SetNestedSlice(two.Object, append(versions, old), "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	w.install(two)
	rule := func(suffix string) string {
		return strings.ReplaceAll(`
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: old}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  pruneLimit: 1
  children:
  - id: item
    readyWhen: ${true}
    optional: true
    deletionPolicy: {whenPruned: Delete, whenDeleted: Orphan}
    forEach: [{name: i, in: "${[1, 2]}"}]
    template: {apiVersion: $GROUP/v1old, kind: Item, metadata: {name: "${parent.metadata.name}-${i}SUFFIX"}, spec: {text: x}}
`, "SUFFIX", suffix)
	}
	w.rule("old", rule(""))
	w.run()
	note, item := w.resource("Note"), w.resource("Item")
	w.parent("Note", "n", `{}`)
	w.await(note, w.home, "n", "is ready", isTrue("Ready"))
	w.serveOld(two.GetName(), false)
	w.await(note, w.home, "n", "waits for the version", lacksKind("in "+w.group+"/v1old"))
	w.rule("old", rule("-new"))
	w.verdict("old", `"ready":true`)
	w.quiet()

	w.serveOld(two.GetName(), true)
	w.await(item, w.home, "n-1-new", "is made", exists)
	w.verdict("old", "PruneHeld")
	w.quiet()
	w.get(item, w.home, "n-1")

	// A parent that goes meanwhile keeps its finalizer.
	w.serveOld(two.GetName(), false)
	w.await(note, w.home, "n", "waits for the version", lacksKind("in "+w.group+"/v1old"))
	w.delete(note, w.home, "n")
	w.await(note, w.home, "n", "says why it stays", func(obj *unstructured.Unstructured) bool {
		return obj.GetDeletionTimestamp() != nil && strings.Contains(conditionField(obj, "Reconciling", "message"), "v1old")
	})
	w.serveOld(two.GetName(), true)
	w.awaitGone(note, w.home, "n")
	w.get(item, w.home, "n-1-new")
}

// serveOld has the version v1old of a custom kind served or not.
func (w *world) serveOld(definition string, served bool) {
	w.t.Helper()
	w.update(crds, "", definition, func(live *unstructured.Unstructured) {
		versions, _, _ := unstructured.NestedSlice(live.Object, "spec", "versions")
		for _, v := range versions {
			if of, ok := v.(map[string]any); ok && of["name"] == "v1old" {
				of["served"] = served
			}
		}
		live.Object["spec"].(map[string]any)["versions"] = versions
	})
}

// TestRuleOfAMissingKindIsRemoved holds that a rule can be removed with its children
// while one of its kinds is missing, also one that it never made anything of.
func TestRuleOfAMissingKindIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note", "Item")
	w.rule("item", itemRule+"  onRuleDeletion: Delete\n")
	w.run()
	note := w.resource("Note")
	w.parent("Note", "n", `{}`)
	w.await(note, w.home, "n", "is ready", isTrue("Ready"))
	w.undefine("Item")
	w.await(note, w.home, "n", "says what is missing", lacksKind("child item: "))
	w.delete(configMaps, w.kanon, "item")
	w.awaitGone(configMaps, w.home, "n")
	w.await(note, w.home, "n", "has no conditions", func(obj *unstructured.Unstructured) bool {
		return conditionStatus(obj, "Ready") == ""
	})
	w.awaitNone(configMaps, w.kanon, "kanon.dev/state=true")
}

// awaitNone waits until no object has these labels.
func (w *world) awaitNone(gvr schema.GroupVersionResource, namespace, labels string) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		list, err := w.at(gvr, namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: labels})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(list.Items) == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("there is still %s %s", gvr.Resource, list.Items[0].GetName())
		}
		<-time.After(50 * time.Millisecond) // a watch of none tells nothing
	}
}
