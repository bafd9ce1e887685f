package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	policies = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	bindings = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
)

// refuse installs a policy for the ConfigMaps of the world's home and waits until
// it is in force.
func (w *world) refuse(validation string) {
	w.t.Helper()
	name := w.home
	w.create(policies, w.object(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: `+name+`}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $HOME}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}
  validations:
  - `+validation+"\n"))
	w.create(bindings, w.object(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: `+name+`}
spec: {policyName: `+name+`, validationActions: [Deny]}
`))
	w.t.Cleanup(func() {
		for _, gvr := range []schema.GroupVersionResource{policies, bindings} {
			if err := w.client.Resource(gvr).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil { // the test's context has ended
				w.t.Error(err)
			}
		}
	})
	w.awaitRefusal("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: probe, namespace: $HOME}\n")
}

// awaitRefusal waits until the API server would not create a ConfigMap.
func (w *world) awaitRefusal(text string) {
	w.t.Helper()
	probe := w.object(text)
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		_, err := w.at(configMaps, w.home).Create(w.t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return
		}
		<-time.After(100 * time.Millisecond) // a policy's being in force is nowhere to be watched
	}
	w.t.Fatalf("it is never refused:\n%s", text)
}

// A refusal whose text differs each time is told, and does not turn the status
// into a clock that drives itself.
func TestRefusalWithAChangingText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.refuse(`{expression: "false", messageExpression: "'request ' + object.metadata.uid + ' is refused'"}`)
	w.rule("note", note("x"))
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	// RetryMax is 2 s, and up to five tries lead up to that. A try is a POST, a status
	// and an Event.
	if got, tries := w.during(8*time.Second, 2*time.Second); len(got) > 3*(tries+5) {
		t.Errorf("%d requests for %d tries: %q", len(got), tries+5, got)
	}
}

// The same definition in two texts, in two versions: one is in force, and the
// other text is told.
func TestOneDefinitionInTwoTexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.definition("Note")
	other := one.DeepCopy()
	statusSchema(t, other)["description"] = "another version"
	text := func(obj *unstructured.Unstructured) string {
		data, err := obj.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(data) + "\n"
	}
	w.rule("a-note", text(one)+"---\n"+note("x"))
	w.rule("b-definition", text(other))
	w.run()
	w.verdict("a-note", `"ready":true`)
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.quiet()
	w.verdict("b-definition", "configmap/"+w.kanon+"/a-note/rule.yaml")
}

// A definition that the API server refuses is reported, and tried again with
// patience.
func TestRefusedDefinition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition := w.definition("Note")
	unstructured.RemoveNestedField(definition.Object, "spec", "names", "plural")
	data, err := definition.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	w.rule("note", string(data)+"\n---\n"+note("x"))
	w.run()
	w.verdict("note", "spec.names.plural")
	from, begin := w.requests.count(), time.Now()
	tries := func() []string {
		return slices.DeleteFunc(w.requests.since(from), func(r string) bool { return !strings.Contains(r, definition.GetName()) })
	}
	for len(tries()) == 0 {
		if time.Since(begin) > patience {
			t.Fatal("it is not tried again")
		}
		<-time.After(50 * time.Millisecond) // the log of requests is nowhere to be watched
	}
	<-time.After(8 * time.Second)
	// Each try is a read and a write, and pauses are five seconds at least.
	if got, most := tries(), 2*(1+int(time.Since(begin)/(5*time.Second))); len(got) > most {
		t.Errorf("%d requests in %s, want no more than %d: %q", len(got), time.Since(begin), most, got)
	}
}

// The verdict is put back when somebody replaces a ConfigMap without it, as
// kubectl replace does.
func TestVerdictSurvivesReplacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("first"))
	w.run()
	w.verdict("note", `"ready":true`)
	replace := func(text string) {
		t.Helper()
		w.update(configMaps, w.kanon, "note", func(live *unstructured.Unstructured) {
			live.SetAnnotations(nil)
			live.SetManagedFields(nil)
			live.Object["data"] = map[string]any{"rule.yaml": w.expand(text)}
		})
	}
	replace(note("second"))
	w.verdict("note", `"ready":true`)
	replace(note("second"))
	w.verdict("note", `"ready":true`)
	w.quiet()
}

// A ConfigMap whose documents went does not go on saying that they are in force,
// and one whose keys are not named as documents says so.
func TestVerdictWithoutDocuments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x"))
	w.run()
	w.verdict("note", `"ready":true`)
	w.texts("note", map[string]string{"rule.txt": note("x")})
	w.verdict("note", "no key of it ends in .yaml or .yml")
	w.texts("other", map[string]string{"rule": note("x")})
	w.verdict("other", "no key of it ends in .yaml or .yml")
	w.quiet()
}

// A definition that stands beside its rule and is deleted is made again.
func TestDeletedDefinitionComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data, err := w.definition("Note").MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	w.rule("note", string(data)+"\n---\n"+note("x"))
	w.run()
	w.verdict("note", `"ready":true`)
	name := "notes." + w.group
	before := w.get(crds, "", name).GetUID()
	w.delete(crds, "", name)
	w.await(crds, "", name, "is established again", func(obj *unstructured.Unstructured) bool {
		return obj.GetUID() != before && conditionStatus(obj, "Established") == "True"
	})
	w.verdict("note", `"ready":true`)
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
}
