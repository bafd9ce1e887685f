package engine_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// secretNameRule names objects by the value of a Secret: children in the parent's namespace and in another one, items, and
// the target of a patch.
const secretNameRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: leak}
spec:
  onRuleDeletion: Delete
  parent: {apiVersion: $GROUP/v1, kind: Box}
  lookups:
  - id: token
    apiVersion: v1
    kind: Secret
    name: ${parent.metadata.name}
  variables:
  - {name: token, value: "${string(lookups.token.data.token)}"}
  children:
  - id: taken
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${variables.token}"}, data: {a: b}}
  - id: lost
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: "${variables.token}-lost"}, data: {a: b}}
  - id: keys
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: keys}, data: {"${variables.token}pin no key": b}}
  - id: item
    forEach: [{name: part, in: "${[variables.token + 'x', variables.token + '.Y']}"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${part}"}, data: {a: b}}
  patches:
  - id: target
    target: {apiVersion: v1, kind: ConfigMap, name: "${variables.token}-target"}
    template: {data: {a: b}}
  - id: keyed
    target: {apiVersion: v1, kind: ConfigMap, name: plain}
    template: {data: {"${variables.token}patch no key": b}}
`

// The value of a Secret that names an object is told nowhere: not in conditions, not in Events, not in the log, and not
// when the object that it named before is deleted.
func TestSecretsInNamesAreNotTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	secret := func(token string) string {
		return `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b", "namespace": "$HOME"}, "stringData": {"token": "` + token + `"}}`
	}
	w.create(secrets, w.object(secret("hunter2")))
	w.create(configMaps, w.object(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hunter2", "namespace": "$HOME"}}`))
	w.configMap(w.home, "plain", "x", "")
	logged := w.captureLog()
	w.rule("leak", secretNameRule)
	w.run()
	w.parent("Box", "b", "{color: red}")
	stalled := w.await(w.resource("Box"), w.home, "b", "is stalled", isTrue("Stalled"))
	message := conditionField(stalled, "Stalled", "message")
	for _, want := range []string{"child taken exists already", "child item[1]", "data[a key of child keys]", "a key of patch keyed"} {
		if !strings.Contains(message, want) {
			t.Errorf("the condition is %q, want %q in it", message, want)
		}
	}
	if strings.Contains(message, "hunter2") {
		t.Errorf("the condition is %q", message)
	}
	// The objects that the former value names are deleted.
	onlyFit := strings.NewReplacer("namespace: \"${variables.token}-lost\"", "labels: {a: b}", ", variables.token + '.Y'", "", " no key", "")
	w.rule("leak", onlyFit.Replace(secretNameRule))
	w.patch(secrets, w.home, "b", `{"stringData": {"token": "correct"}}`)
	w.awaitGone(configMaps, w.home, "hunter2x")
	w.await(configMaps, w.home, "correctx", "exists", func(*unstructured.Unstructured) bool { return true })
	// The rule is removed, and its children with it.
	w.delete(configMaps, w.kanon, "leak")
	w.awaitGone(configMaps, w.home, "correctx")
	w.quiet()
	list, err := w.at(corev1.SchemeGroupVersion.WithResource("events"), w.home).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range list.Items {
		if text, _ := event.Object["message"].(string); strings.Contains(text, "hunter2") || strings.Contains(text, "correct") {
			t.Errorf("an Event says %q", text)
		}
	}
	for line := range strings.Lines(logged()) {
		if strings.Contains(line, "hunter2") || strings.Contains(line, "correct") {
			t.Errorf("the log has %s", line)
		}
	}
	if !strings.Contains(logged(), "child item[0]") {
		t.Error("the log does not name the children by their nodes")
	}
}
