package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/source"
)

// noteRule makes one ConfigMap of each Note; $TEXT is its content.
const noteRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: note}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {text: $TEXT}
`

func note(text string) string { return strings.ReplaceAll(noteRule, "$TEXT", text) }

func TestRuleLifecycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.run()
	w.parent("Note", "n", "{}")

	w.rule("note", note("first"))
	w.verdict("note", `"ready":true`)
	w.await(configMaps, w.home, "n", "is made", has("first", "data", "text"))

	w.rule("note", note("second"))
	w.await(configMaps, w.home, "n", "follows the rule", has("second", "data", "text"))

	// Broken: the last good revision runs on.
	w.rule("note", note(`"${parent.spec.}"`))
	verdict := w.verdict("note", "the last good revision keeps running")
	for _, want := range []string{"configmap/" + w.kanon + "/note/rule.yaml:13:", `"ready":false`} {
		if !strings.Contains(verdict, want) {
			t.Errorf("the verdict on a broken rule lacks %q:\n%s", want, verdict)
		}
	}
	w.awaitEvent(w.kanon, "note", "RulesRefused")
	w.delete(configMaps, w.home, "n")
	w.await(configMaps, w.home, "n", "is put back by the last good revision", has("second", "data", "text"))

	// Not YAML at all: what the text used to hold runs on, too.
	w.rule("note", "spec: [unclosed\n")
	w.verdict("note", "its document cannot be read")
	w.delete(configMaps, w.home, "n")
	w.await(configMaps, w.home, "n", "is put back although the text cannot be read", has("second", "data", "text"))

	// Mended.
	w.rule("note", note("third"))
	w.verdict("note", `"ready":true`)
	w.await(configMaps, w.home, "n", "follows the mended rule", has("third", "data", "text"))

	// Removed: the children stay, and are nobody's business any more: what
	// somebody does to one stays done while another rule is seen at work.
	w.delete(configMaps, w.kanon, "note")
	w.rule("marker", strings.NewReplacer("name: note", "name: marker",
		`"${parent.metadata.name}"`, `"${parent.metadata.name}-marker"`).Replace(note("m")))
	w.await(configMaps, w.home, "n-marker", "is made by the next rule", exists) // whose start is later than the stop
	w.patch(configMaps, w.home, "n", `{"data":{"text":"edited"}}`)
	w.delete(configMaps, w.home, "n-marker")
	w.await(configMaps, w.home, "n-marker", "is put back by the rule that is there", exists)
	if got := field(w.get(configMaps, w.home, "n"), "data", "text"); got != "edited" {
		t.Errorf("a rule that was removed still acts: the text is %v", got)
	}
}

func TestRuleThatDropsAKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	w.run()
	w.parent("Box", "b", "{color: red}")
	w.await(w.resource("Box"), w.home, "b", "is ready", isTrue("Ready"))

	// The rule no longer mentions Services at all.
	withoutService, _, _ := strings.Cut(boxRule, "  - id: service")
	w.rule("box", withoutService+"  status:\n    color: ${children.config.data.color}\n")
	w.awaitGone(services, w.home, "b")
	w.get(configMaps, w.home, "b-config")
}

func TestTwoRulesOnOneParentKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	other := strings.NewReplacer("name: note", "name: other", `"${parent.metadata.name}"`, `"${parent.metadata.name}-other"`,
		"spec:\n", "spec:\n  conditionPrefix: Other\n").Replace(note("other"))
	w.texts("both", map[string]string{"one.yaml": note("one"), "other.yaml": other})
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready by both rules", func(obj *unstructured.Unstructured) bool {
		return isTrue("Ready")(obj) && isTrue("OtherReady")(obj)
	})
	w.get(configMaps, w.home, "n")
	w.get(configMaps, w.home, "n-other")
	w.delete(w.resource("Note"), w.home, "n")
	w.awaitGone(configMaps, w.home, "n")
	w.awaitGone(configMaps, w.home, "n-other")
}

func TestKindThatComesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule("note", note("x"))
	w.run()
	verdict := w.verdict("note", "has no kind Note")
	if !strings.Contains(verdict, `"ready":false`) || !strings.Contains(verdict, "rule.yaml:6:") {
		t.Errorf("the verdict does not name the place of the missing kind, or is no refusal: %s", verdict)
	}
	w.define("Note")
	w.verdict("note", `"ready":true`)
	w.parent("Note", "n", "{}")
	w.await(configMaps, w.home, "n", "is made", exists)
}

func TestDefinitionBesideItsRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition, err := w.definition("Note").MarshalJSON() // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	w.rule("note", string(definition)+"\n---\n"+note("x"))
	stop := w.run()
	w.verdict("note", `"ready":true`)
	w.parent("Note", "n", "{}")
	w.await(configMaps, w.home, "n", "is made", exists)

	// With the definition in place, a restart writes nothing.
	stop()
	before := w.requests.count()
	w.run()
	w.parent("Note", "m", "{}")
	w.await(w.resource("Note"), w.home, "m", "is ready", isTrue("Ready"))
	for _, request := range w.requests.since(before) {
		if strings.HasPrefix(request, "PATCH") && strings.Contains(request, "customresourcedefinitions") {
			t.Errorf("the definition was written again: %s", request)
		}
	}
}

// A definition that an admin has applied, such as from kanon crd, is taken as it is if it differs in descriptions alone: those that
// come from comments are lost in a Rule object. Kanon need not be allowed to write definitions then.
func TestDefinitionThatAnAdminApplied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition := w.definition("Note")
	w.install(definition)
	other := definition.DeepCopy()
	versions, _, _ := unstructured.NestedSlice(other.Object, "spec", "versions")
	schema := versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	schema["description"] = "a note"
	if err := unstructured.SetNestedSlice(other.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	data, err := other.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	w.rule("note", string(data)+"\n---\n"+note("x"))
	w.run()
	w.verdict("note", `"ready":true`)
	w.parent("Note", "n", "{}")
	w.await(configMaps, w.home, "n", "is made", exists)
	for _, request := range w.requests.since(0) {
		if strings.HasPrefix(request, "PATCH") && strings.Contains(request, "customresourcedefinitions") {
			t.Errorf("the definition was written: %s", request)
		}
	}
}

// A kind of parents goes away and comes back: nothing is deleted by mistake, and
// the rule goes on by itself.
func TestKindThatGoesAndComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note", "Item")
	w.rule("item", itemRule)
	w.run()
	w.verdict("item", `"ready":true`)
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	config := w.await(configMaps, w.home, "n", "is made", exists)

	// The kind of a child goes: its objects go with it, the other child stays.
	w.undefine("Item")
	w.verdict("item", "has no kind Item")
	w.install(w.definition("Item"))
	w.verdict("item", `"ready":true`)
	w.await(w.resource("Item"), w.home, "n", "is created again", exists)
	w.await(w.resource("Note"), w.home, "n", "is ready again", isTrue("Ready"))
	if after := w.get(configMaps, w.home, "n"); after.GetUID() != config.GetUID() {
		t.Error("the other child was deleted and made again")
	}

	// The kind of the parent goes and comes back.
	w.undefine("Note")
	w.verdict("item", "has no kind Note")
	w.install(w.definition("Note"))
	w.verdict("item", `"ready":true`)
	w.parent("Note", "m", "{}")
	w.await(w.resource("Note"), w.home, "m", "is ready", isTrue("Ready"))
	for _, request := range w.requests.since(0) {
		if strings.HasPrefix(request, "DELETE ") {
			t.Errorf("something was deleted: %s", request)
		}
	}
}

// A kind that is replaced faster than anybody can react is noticed all the same.
func TestKindReplacedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x"))
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.undefine("Note")
	w.install(w.definition("Note"))
	w.parent("Note", "m", "{}")
	w.await(w.resource("Note"), w.home, "m", "is ready", isTrue("Ready"))
}

// itemRule makes an Item and a ConfigMap of each Note.
const itemRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: item}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
  - id: item
    readyWhen: ${true}
    template:
      apiVersion: $GROUP/v1
      kind: Item
      metadata: {name: "${parent.metadata.name}"}
      spec: {text: x}
`

func TestRulesFromFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	path := filepath.Join(t.TempDir(), "rule.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(w.expand(note(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	files, err := source.NewFiles(path)
	if err != nil {
		t.Fatal(err)
	}
	w.run(func(o *engine.Options) { o.Sources = []engine.Source{files} })
	w.parent("Note", "n", "{}")
	w.await(configMaps, w.home, "n", "is made", has("first", "data", "text"))
	write("second")
	w.await(configMaps, w.home, "n", "follows the file", has("second", "data", "text"))
	write("${broken")
	write("third")
	w.await(configMaps, w.home, "n", "follows the mended file", has("third", "data", "text"))
}

// undefine removes a custom kind and waits until it is gone.
func (w *world) undefine(kind string) {
	w.t.Helper()
	name := strings.ToLower(kind) + "s." + w.group
	if err := w.client.Resource(crds).Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.awaitGone(crds, "", name)
}

// A rule with warnings alone is in force, and the log reports them as information. Of a rule that is refused, the log
// reports the mistake as an error, and the warning not.
func TestWarningsAreNoErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	logged := w.captureLog()
	always := strings.NewReplacer("kind: Note}", `kind: Note, when: "${true}"}`)
	w.rule("warned", strings.Replace(always.Replace(note("yes")), "name: note}", "name: warned}", 1))
	w.rule("refused", strings.Replace(always.Replace(note(`"${nobody}"`)), "name: note}", "name: refused}", 1))
	w.run()
	w.verdict("warned", `"ready":true`)
	w.verdict("refused", `"ready":false`)
	for line := range strings.Lines(logged()) {
		if strings.Contains(line, "warning: ") && strings.Contains(line, "not in force") {
			t.Errorf("a warning is logged as an error: %s", line)
		}
	}
	for _, want := range []string{`"msg"="warning about a rule"`, `"msg"="rule not in force as written"`} {
		if !strings.Contains(logged(), want) {
			t.Errorf("the log lacks %s:\n%s", want, logged())
		}
	}
}
