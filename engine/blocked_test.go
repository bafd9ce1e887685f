package engine_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/source"
)

// hold has requests of engines that are started from now on held.
func (w *world) hold(method, path string) *heldRequests {
	w.t.Helper()
	w.config = rest.CopyConfig(w.config)
	path = w.expand(path)
	h := holdRequests(w.config, func(r *http.Request) bool {
		return r.Method == method && strings.HasSuffix(r.URL.Path, path)
	})
	w.t.Cleanup(h.Open)
	return h
}

// arrived waits until a request is held.
func (w *world) arrived(h *heldRequests) {
	w.t.Helper()
	select {
	case <-h.Arrived():
	case <-time.After(patience):
		w.t.Fatal("the request that is to be held never comes")
	}
}

// ratioRule computes something that comes out otherwise for integers.
const ratioRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: ratio}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Wall}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {half: "${string(parent.spec.ratio / 2)}"}
`

// ratioDefinition is a definition whose spec.ratio is a number.
func (w *world) ratioDefinition() *unstructured.Unstructured {
	w.t.Helper()
	definition := w.wallDefinition()
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	err := unstructured.SetNestedMap(versions[0].(map[string]any), map[string]any{"ratio": map[string]any{"type": "number"}},
		"schema", "openAPIV3Schema", "properties", "spec", "properties")
	if err == nil {
		err = unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions")
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return definition
}

// TestSchemaIsAwaited holds that a rule waits for the schemas of its kinds, however long
// that takes, because what an expression gives depends on them; that it says so; and that
// other rules start meanwhile.
func TestSchemaIsAwaited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.ratioDefinition())
	w.define("Note")
	held := w.hold(http.MethodGet, "/customresourcedefinitions/walls.$GROUP")
	w.rule("ratio", ratioRule)
	w.run()
	w.arrived(held)
	w.parent("Wall", "north", `{ratio: 3}`)
	w.rule("note", note("x"))
	w.parent("Note", "n", `{}`)
	w.await(configMaps, w.home, "n", "is made although another rule waits", exists)
	if verdict := w.verdict("ratio", "waiting for the schema of Wall."+w.group); !strings.Contains(verdict, `"ready":false`) {
		t.Errorf("the rule counts as in force: %s", verdict)
	}
	held.Open()
	w.await(configMaps, w.home, "north", "is made", exists)
	w.verdict("ratio", `"ready":true`)
	w.quiet()
	if got := field(w.get(configMaps, w.home, "north"), "data", "half"); got != "1.5" {
		t.Errorf("half of 3 is %v", got)
	}
	for _, write := range w.configWrites(0) {
		if strings.HasSuffix(write, "/north") {
			t.Errorf("it was something else before: %s", write)
		}
	}
	if held.Endless() > 0 {
		t.Error("a schema is read without a deadline")
	}
}

// TestBlockedDefinition holds that a definition which is slow to be applied holds up the
// rules of its own text, and no others.
func TestBlockedDefinition(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	held := w.hold(http.MethodPatch, "/customresourcedefinitions/items.$GROUP")
	definition, err := w.definition("Item").MarshalJSON() // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	w.rule("item", string(definition)+"\n---\n"+itemRule)
	w.run()
	w.arrived(held)
	w.rule("note", strings.ReplaceAll(note("x"), `"${parent.metadata.name}"`, `"${parent.metadata.name}-text"`))
	w.parent("Note", "n", `{}`)
	w.await(configMaps, w.home, "n-text", "is made although a definition is on its way", exists)
	w.verdict("note", `"ready":true`)
	w.verdict("item", "waiting for CustomResourceDefinition items."+w.group)
	for _, write := range w.configWrites(0) {
		if strings.HasSuffix(write, "/n") {
			t.Errorf("the rule beside the definition has started before it: %s", write)
		}
	}
	held.Open()
	w.await(w.resource("Item"), w.home, "n", "is made", exists)
	w.verdict("item", `"ready":true`)
	if held.Endless() > 0 {
		t.Error("a definition is applied without a deadline")
	}
}

// TestBlockedReport holds that a verdict which is slow to be written holds up nothing.
func TestBlockedReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	held := w.hold(http.MethodPatch, "/configmaps/note")
	w.rule("note", note("x"))
	w.run()
	w.arrived(held)
	w.rule("other", strings.NewReplacer("name: note", "name: other", `"${parent.metadata.name}"`, `"${parent.metadata.name}-other"`).Replace(note("y")))
	w.parent("Note", "n", `{}`)
	w.await(configMaps, w.home, "n", "is made", exists)
	w.await(configMaps, w.home, "n-other", "is made", exists)
	w.verdict("other", `"ready":true`)
	if text := w.get(configMaps, w.kanon, "note").GetAnnotations()[source.AnnotationStatus]; text != "" {
		t.Errorf("the verdict that is held was written: %s", text)
	}
	held.Open()
	w.verdict("note", `"ready":true`)
	if held.Endless() > 0 {
		t.Error("a verdict is written without a deadline")
	}
}

// TestDefinitionOfAChildBesideItsRule holds that a rule starts after the definitions of
// its own text: no parent ever says that the kind of a child is missing.
func TestDefinitionOfAChildBesideItsRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.parent("Note", "n", `{}`)
	definition, err := w.definition("Item").MarshalJSON() // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	w.rule("item", string(definition)+"\n---\n"+itemRule)
	w.run()
	w.await(w.resource("Note"), w.home, "n", "has conditions", func(obj *unstructured.Unstructured) bool {
		if conditionField(obj, "Reconciling", "reason") == "KindMissing" {
			t.Error("the rule began before the definition of its text")
		}
		return conditionStatus(obj, "Ready") == "True"
	})
	w.quiet()
	status := 0
	for _, request := range w.requests.since(0) {
		if strings.HasSuffix(request, "/notes/n/status") {
			status++
		}
	}
	if status != 1 {
		t.Errorf("the status of the parent was written %d times, want once", status)
	}
}

// TestBlockedChildren holds that writes of children which take long, as with a slow admission webhook, delay their own
// rule only, and that the rule has no more of them under way than there are workers.
func TestBlockedChildren(t *testing.T) {
	t.Parallel()
	const workers = 3
	w := newWorld(t, "Note", "Task")
	held := w.hold(http.MethodPost, "/"+w.home+"/configmaps")
	w.rule("slow", note("x"))
	w.rule("quick", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: quick}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Task}
  children:
  - {id: account, template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: "${parent.metadata.name}"}}}
`)
	w.run(func(o *engine.Options) { o.Workers, o.ParallelWrites = workers, 1 })
	for i := range 5 * workers {
		w.parent("Note", fmt.Sprint("n", i), `{}`)
	}
	w.arrived(held)
	for i := range 2 * workers {
		w.parent("Task", fmt.Sprint("t", i), `{}`)
	}
	for i := range 2 * workers {
		w.await(w.resource("Task"), w.home, fmt.Sprint("t", i), "is ready", isTrue("Ready"))
	}
	if n := held.Endless(); n != workers {
		t.Errorf("%d writes of the slow rule are under way, want %d", n, workers)
	}
	held.Open()
	w.awaitAllReady()
	w.quiet()
}
