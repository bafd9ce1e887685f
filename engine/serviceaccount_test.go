package engine_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/internal/controlplanetest"
)

// accountedNote is a rule that runs as ServiceAccount web, with a child and with a status that reads something.
const accountedNote = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: note}
spec:
  serviceAccountName: web
  parent: {apiVersion: $GROUP/v1, kind: Note}
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: settings, namespace: $OTHER}
  children:
  - id: text
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {text: "${lookups.settings.data.text}"}
  status: {seen: "${lookups.settings.data.text}"}
  events: [{when: "${lookups.settings.data.text != ''}", reason: Noted, message: "noted"}]
`

// serviceAccount is the user name of a ServiceAccount in Kanon's namespace.
func (w *world) serviceAccount(name string) string {
	return "system:serviceaccount:" + w.kanon + ":" + name
}

// allow gives a user rights in one namespace. They end with the namespace, or when part is taken back.
func (w *world) allow(namespace, part, user, rules string) {
	w.t.Helper()
	w.create(roles, w.object(fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: %s, namespace: %s}\nrules: %s\n", part, namespace, rules)))
	w.create(roleBindings, w.object(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s, namespace: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: "%[3]s"}]
`, part, namespace, user)))
}

// senders counts the requests about a resource of which the method and the path are as said, by whom they were sent for.
func (w *world) senders(methods string, gvr schema.GroupVersionResource, namespace string) map[string]int {
	l := w.requests
	l.mu.Lock()
	defer l.mu.Unlock()
	found := make(map[string]int)
	for _, r := range l.all {
		method, path, _ := strings.Cut(r.text, " ")
		if strings.Contains(methods, method) && strings.Contains(path, "/namespaces/"+namespace+"/"+gvr.Resource) {
			found[r.user]++
		}
	}
	return found
}

// What a rule with a ServiceAccount does has that ServiceAccount's rights, whatever Kanon's own are: writes, reads from memory, and
// the end of the rule. What is given later counts without a restart, and what is taken away counts too.
func TestServiceAccountOfARule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	other := controlplanetest.Namespace(t, w.config)
	w.create(configMaps, w.object(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: %s}, data: {text: hidden-value}}", other)))
	web := w.serviceAccount("web")
	w.rule("note", strings.ReplaceAll(accountedNote, "$OTHER", other))
	w.run()
	w.verdict("note", `"name":"note"`)
	w.parent("Note", "n", "{}")

	// Nothing may be seen: the parent has no report, and nothing is made.
	w.verdict("note", "ServiceAccount "+w.kanon+"/web")
	w.quiet()
	if n := w.get(w.resource("Note"), w.home, "n"); field(n, "status") != nil {
		t.Errorf("a parent that the rule may not read has a status: %v", field(n, "status"))
	}

	// The parent may be seen, and what the rule looks up may not.
	w.allow(w.home, "parents", web, `[{apiGroups: [$GROUP], resources: [notes], verbs: [get, list, watch]}, {apiGroups: [$GROUP], resources: [notes/status], verbs: [patch]}]`)
	n := w.await(w.resource("Note"), w.home, "n", "says what may not be read", func(obj *unstructured.Unstructured) bool {
		return strings.Contains(conditionField(obj, "Ready", "message"), "may not get, list, watch configmaps in namespace "+other)
	})
	if text := fmt.Sprint(n.Object); strings.Contains(text, "hidden-value") {
		t.Errorf("the parent has what the rule may not read: %s", text)
	}

	// That too, and the child may not be written.
	w.allow(other, "settings", web, `[{apiGroups: [""], resources: [configmaps], resourceNames: [settings], verbs: [get]}]`)
	w.await(w.resource("Note"), w.home, "n", "says what may not be written", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Ready", "reason") == "Forbidden" && strings.Contains(conditionField(obj, "Ready", "message"), "configmaps in namespace "+w.home)
	})
	w.allow(w.home, "children", web, `[{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update, patch, delete]}]`)
	w.await(configMaps, w.home, "n", "is made", has("hidden-value", "data", "text"))
	// So are Events of the rule, although Kanon could create them.
	w.await(w.resource("Note"), w.home, "n", "says that it may not emit Events", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Ready", "reason") == "Forbidden" && strings.Contains(conditionField(obj, "Ready", "message"), "may not create events in namespace "+w.home)
	})
	if got := w.saidOf("n", "Noted"); len(got) > 0 {
		t.Errorf("Events of a rule that may emit none: %q", got)
	}
	w.allow(w.home, "events", web, `[{apiGroups: [""], resources: [events], verbs: [create]}]`)
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.awaitEvent(w.home, "n", "Noted")

	// A right that is taken away.
	if err := w.client.Resource(roleBindings).Namespace(other).Delete(t.Context(), "settings", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	refused := func() bool {
		return strings.Contains(conditionField(w.get(w.resource("Note"), w.home, "n"), "Ready", "message"), "may not get, list, watch configmaps in namespace "+other)
	}
	for i := 0; !refused(); i++ { // nothing tells Kanon of it; what it knows of the right is asked for again after a few seconds
		w.patch(w.resource("Note"), w.home, "n", fmt.Sprintf(`{"metadata": {"annotations": {"touched": "%d"}}}`, i))
		w.quiet()
	}
	w.patch(configMaps, other, "settings", `{"data": {"text": "second-value"}}`)
	w.patch(w.resource("Note"), w.home, "n", `{"metadata": {"annotations": {"touched": "last"}}}`)
	w.quiet()
	if text := field(w.get(configMaps, w.home, "n"), "data", "text"); text != "hidden-value" {
		t.Errorf("the child has %v, which the rule may not read any more", text)
	}

	for _, gvr := range []schema.GroupVersionResource{configMaps, w.resource("Note")} {
		senders := w.senders("POST PUT PATCH DELETE", gvr, w.home)
		if len(senders) != 1 || senders[web] == 0 {
			t.Errorf("writes of %s were sent for %v, want all for %s", gvr.Resource, senders, web)
		}
	}
}
