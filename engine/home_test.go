package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/source"
)

// Kanon's own namespace, deleted while Kanon runs, is created again with the keys and with the
// records of the rules that exist. A rule that went with it has nothing deleted, whatever it says of
// its removal, and goes on where it was when it is back.
func TestOwnNamespaceThatIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note", "Box")
	path := filepath.Join(t.TempDir(), "box.yaml")
	if err := os.WriteFile(path, []byte(w.expand(boxRule)), 0o600); err != nil {
		t.Fatal(err)
	}
	rule := note("x") + "  onRuleDeletion: Delete\n"
	w.rule("note", rule)
	withFile := func(o *engine.Options) {
		files, err := source.NewFiles(path)
		if err != nil {
			t.Fatal(err)
		}
		o.Sources = append(o.Sources, files)
	}
	stop := w.run(withFile)
	w.parent("Note", "n", "{}")
	w.parent("Box", "red", "{color: red}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	made := w.get(configMaps, w.home, "n")
	keys := w.get(secrets, w.kanon, keyring.SecretName)
	w.quiet()
	from := w.requests.count()

	w.delete(namespaces, "", w.kanon)
	again := w.await(secrets, w.kanon, keyring.SecretName, "is another one", func(obj *unstructured.Unstructured) bool {
		return obj.GetUID() != keys.GetUID()
	})
	if id := field(keys, "data", "current"); field(again, "data", "current") != id {
		t.Errorf("the key is another one: %v, was %v", field(again, "data", "current"), id)
	}
	w.await(configMaps, w.kanon, w.recordOf("box"), "is written again", exists)
	w.patch(w.resource("Box"), w.home, "red", `{"spec":{"color":"blue"}}`)
	w.await(configMaps, w.home, "red-config", "follows its parent", has("blue", "data", "color"))
	w.quiet()
	untouched := func() {
		t.Helper()
		for _, request := range w.requests.since(from) {
			if strings.HasPrefix(request, "DELETE ") {
				t.Errorf("something was deleted: %s", request)
			}
		}
		if now := w.get(configMaps, w.home, "n"); now.GetUID() != made.GetUID() {
			t.Error("the child of the rule that went with the namespace is another one")
		}
		if !isTrue("Ready")(w.get(w.resource("Note"), w.home, "n")) {
			t.Error("the parent of the rule that went with the namespace lost its conditions")
		}
	}
	untouched()

	// Nor is it removed by the next process.
	stop()
	w.run(withFile)
	w.awaitLook("red")
	w.quiet()
	untouched()

	w.rule("note", note("y")+"  onRuleDeletion: Delete\n")
	w.await(configMaps, w.home, "n", "follows its rule again", has("y", "data", "text"))
	untouched()
	w.delete(configMaps, w.kanon, "note")
	w.awaitGone(configMaps, w.home, "n")
}
