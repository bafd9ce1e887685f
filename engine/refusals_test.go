package engine_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/watch"
)

var (
	webhooks = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	quotas   = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
)

// refusedRule makes of each Note what a ConfigMap beside it says, and another object
// that nobody refuses.
const refusedRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: refused}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  variables:
  - {name: input, value: "${lookups.input.data}"}
  lookups:
  - {id: input, apiVersion: v1, kind: ConfigMap, name: "${parent.metadata.name}-input"}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${variables.input.?name.orValue(parent.metadata.name)}", labels: {case: "${parent.metadata.name}"}}
      immutable: ${has(variables.input.immutable)}
      data: {text: "${variables.input.?text.orValue('')}", more: "${variables.input.?text.orValue('')}"}
  - id: service
    when: ${has(variables.input.service)}
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${parent.metadata.name}"}
      spec: {ports: [{port: 80}]}
  - id: other
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-other"}
      data: {text: "${variables.input.?text.orValue('') == '' ? 'none' : 'some'}"}
  status: {text: "${variables.input.?status.orValue('')}"}
`

// refusal is one thing that is in the way of a parent, by the parent's name.
type refusal struct {
	input map[string]string
	// cause comes before the parent, spoil once it is ready; mend takes the cause away
	// and leaves the parent alone.
	cause, spoil, mend func(w *world)
	// condition is Stalled unless it says Reconciling.
	condition, reason string
	messages          []string
}

// denier is an admission webhook that refuses objects by their label case, with a
// code for each.
type denier struct {
	mu    sync.Mutex
	codes map[string]int
}

func (d *denier) set(name string, code int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.codes[name] = code
}

func (d *denier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID    string
			Object struct {
				Metadata struct{ Labels map[string]string }
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := review.Request.Object.Metadata.Labels["case"]
	d.mu.Lock()
	code := d.codes[name]
	d.mu.Unlock()
	response := map[string]any{"uid": review.Request.UID, "allowed": code == 0}
	if code != 0 {
		response["status"] = map[string]any{"code": code, "message": "no " + name + " today"}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{ // who asked has gone otherwise
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
	})
}

// deny runs a webhook for the ConfigMaps of the world's home, and waits until it is
// asked.
func (w *world) deny(d *denier) {
	w.t.Helper()
	server := httptest.NewTLSServer(d)
	w.t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	w.createForTest(webhooks, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
- name: deny.example.com
  clientConfig: {url: %[2]q, caBundle: %[3]s}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $HOME}}
  objectSelector: {matchExpressions: [{key: case, operator: Exists}]}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE]}]
  admissionReviewVersions: [v1]
  sideEffects: None
`, w.home, server.URL, base64.StdEncoding.EncodeToString(authority)))
	d.set("probe", http.StatusForbidden)
	w.awaitRefusal("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: probe, namespace: $HOME, labels: {case: probe}}\n")
}

// createForTest makes an object that is removed at the end of the test, if it is there
// still.
func (w *world) createForTest(gvr schema.GroupVersionResource, text string) {
	w.t.Helper()
	obj := w.create(gvr, w.object(text))
	w.t.Cleanup(func() { // the test's context has ended
		_ = w.at(gvr, obj.GetNamespace()).Delete(context.Background(), obj.GetName(), metav1.DeleteOptions{})
	})
}

// input makes or changes what a Note is made of.
func (w *world) input(name string, data map[string]string) {
	w.t.Helper()
	data = maps.Clone(data)
	if data == nil {
		data = make(map[string]string)
	}
	data["for"] = name
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name + "-input", "namespace": w.home}, "data": data,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	force := true
	if _, err := w.at(configMaps, w.home).Patch(w.t.Context(), name+"-input", types.ApplyPatchType, text,
		metav1.PatchOptions{FieldManager: "somebody", Force: &force}); err != nil {
		w.t.Fatal(err)
	}
}

// quota sets how many Services there may be, and waits until that is in force.
func (w *world) quota(services string) {
	w.t.Helper()
	w.patch(quotas, w.home, "services", fmt.Sprintf(`{"spec":{"hard":{"services":%q}}}`, services))
	w.await(quotas, w.home, "services", "is in force", has(services, "status", "hard", "services"))
}

// refusals are what can be in the way. webhook refuses what it is told to.
func refusals(webhook *denier) map[string]refusal {
	denied := func(name string, code int, condition, reason string) refusal {
		return refusal{
			cause:     func(*world) { webhook.set(name, code) },
			mend:      func(*world) { webhook.set(name, 0) },
			condition: condition, reason: reason, messages: []string{"child config: ", "no " + name + " today"},
		}
	}
	return map[string]refusal{
		"webhook":  denied("webhook", http.StatusForbidden, "Stalled", "Forbidden"),
		"conflict": denied("conflict", http.StatusConflict, "Reconciling", "WriteFailed"),
		// A conflict of an update looks like one with another writer, which goes away by itself. This one does not.
		"repeated": {
			input: map[string]string{"text": "a"},
			spoil: func(w *world) {
				webhook.set("repeated", http.StatusConflict)
				w.input("repeated", map[string]string{"text": "b"})
			},
			mend:      func(*world) { webhook.set("repeated", 0) },
			condition: "Reconciling", reason: "WriteFailed", messages: []string{"child config: ", "no repeated today"},
		},
		"malformed": denied("malformed", http.StatusUnprocessableEntity, "Stalled", "Invalid"),
		"broken":    denied("broken", http.StatusInternalServerError, "Reconciling", "WriteFailed"),
		"policy": {
			cause: func(w *world) {
				w.refuse(`{expression: "!(object.metadata.name in ['policy', 'probe'])", message: "no such names"}`)
			},
			mend: func(w *world) {
				w.patch(bindings, "", w.home, `{"spec":{"validationActions":["Audit"]}}`)
			},
			reason: "Invalid", messages: []string{"child config: ", "no such names"},
		},
		"quota": {
			input: map[string]string{"service": "yes"},
			cause: func(w *world) {
				w.create(quotas, w.object("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: services, namespace: $HOME}\nspec: {hard: {services: \"0\"}}\n"))
				w.quota("0")
			},
			mend:   func(w *world) { w.quota("5") },
			reason: "Forbidden", messages: []string{"child service: ", "exceeded quota: services", "limited: services=0"},
		},
		"immutable": {
			input:  map[string]string{"immutable": "yes", "text": "a"},
			spoil:  func(w *world) { w.input("immutable", map[string]string{"immutable": "yes", "text": "b"}) },
			mend:   func(w *world) { w.delete(configMaps, w.home, "immutable") },
			reason: "Invalid", messages: []string{
				"child config: ConfigMap ", "/immutable is not valid", "data: Forbidden: field is immutable when `immutable` is set",
			},
		},
		"finalizer": {
			spoil: func(w *world) {
				w.patch(configMaps, w.home, "finalizer", `{"metadata":{"finalizers":["example.com/hold"]}}`)
				w.delete(configMaps, w.home, "finalizer")
			},
			mend: func(w *world) {
				w.patch(configMaps, w.home, "finalizer", `{"metadata":{"finalizers":null}}`)
			},
			condition: "Reconciling", reason: "Terminating",
			messages: []string{"child config: ConfigMap ", "/finalizer is being deleted", "blocked by its finalizers: example.com/hold"},
		},
		"name": {
			input:  map[string]string{"name": "Not_a_name"},
			mend:   func(w *world) { w.input("name", map[string]string{"name": "a-name"}) },
			reason: "Invalid", messages: []string{"child config: ConfigMap ", "/Not_a_name is not valid", "metadata.name"},
		},
		"taken": {
			cause: func(w *world) {
				w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: taken, namespace: $HOME}\ndata: {a: b}\n"))
			},
			mend:   func(w *world) { w.delete(configMaps, w.home, "taken") },
			reason: "NameTaken", messages: []string{"child config: ConfigMap ", "/taken exists already and belongs to others", "adopt: true"},
		},
		"large": {
			input:  map[string]string{"text": strings.Repeat("x", 600_000)},
			mend:   func(w *world) { w.input("large", map[string]string{"text": "small"}) },
			reason: "Invalid", messages: []string{"child config: ConfigMap ", "/large is not valid", "may not be more than 1048576 bytes"},
		},
		"status": {
			input:  map[string]string{"status": "much too long"},
			mend:   func(w *world) { w.input("status", map[string]string{"status": "short"}) },
			reason: "Invalid", messages: []string{"status: ", "status.text"},
		},
	}
}

// Whatever is in the way of one child is told with its cause, the other children go
// on, nothing is asked for again and again, and all heals once the cause is gone,
// with nobody touching the parent.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition := w.definition("Note")
	statusSchema(t, definition)["properties"].(map[string]any)["text"] = map[string]any{"type": "string", "maxLength": int64(5)}
	w.install(definition)
	webhook := &denier{codes: make(map[string]int)}
	w.deny(webhook)
	w.rule("refused", refusedRule)
	cases := refusals(webhook)
	for name, c := range cases {
		w.input(name, c.input)
		if c.cause != nil {
			c.cause(w)
		}
	}
	w.run()
	w.verdict("refused", `"ready":true`)
	generations := make(map[string]int64)
	for name := range cases {
		generations[name] = w.parent("Note", name, "{}").GetGeneration()
	}
	for name, c := range cases {
		if c.spoil != nil {
			w.await(w.resource("Note"), w.home, name, "is ready", isTrue("Ready"))
			c.spoil(w)
		}
	}
	for name, c := range cases {
		condition := c.condition
		if condition == "" {
			condition = "Stalled"
		}
		obj := w.await(w.resource("Note"), w.home, name, "is in trouble", func(obj *unstructured.Unstructured) bool {
			return isTrue(condition)(obj) && conditionField(obj, condition, "reason") == c.reason
		})
		for _, want := range c.messages {
			if message := conditionField(obj, condition, "message"); !strings.Contains(message, want) {
				t.Errorf("%s: the message lacks %q: %s", name, want, message)
			}
		}
		if condition == "Stalled" {
			w.awaitEvent(w.home, name, c.reason)
		}
		w.await(configMaps, w.home, name+"-other", "is as it should be", func(obj *unstructured.Unstructured) bool {
			return (field(obj, "data", "text") == "some") == (c.input["text"] != "")
		})
	}

	// RetryMax is 2 s. A try is a write, a read of what is in the way, and a status where
	// its text changed.
	if got, tries := w.during(6*time.Second, 2*time.Second); len(got) > 3*tries*len(cases) {
		t.Errorf("%d requests for %d tries of each: %q", len(got), tries, got)
	}

	for _, c := range cases {
		c.mend(w)
	}
	for name := range cases {
		healed := w.await(w.resource("Note"), w.home, name, "is ready", isTrue("Ready"))
		if conditionStatus(healed, "Stalled") != "" || conditionStatus(healed, "Reconciling") != "" {
			t.Errorf("%s: a healed parent still says %v", name, field(healed, "status", "conditions"))
		}
		if healed.GetGeneration() != generations[name] {
			t.Errorf("%s: the parent was touched", name)
		}
	}
	w.quiet()
}

// A right to write that is missing is told by the parent, and all heals when it is
// given.
func TestWritesThatAreForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x"))
	user := w.user()
	w.grant(user, "parents", rightsForParents)
	w.grant(user, "reading", `[{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]`)
	w.runAs(user)
	w.verdict("note", `"ready":true`)
	w.parent("Note", "n", "{}")
	stalled := w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	if reason := conditionField(stalled, "Stalled", "reason"); reason != "Forbidden" {
		t.Errorf("the reason is %q", reason)
	}
	for _, want := range []string{"child config: ", "configmaps is forbidden", user, "cannot create resource"} {
		if message := conditionField(stalled, "Stalled", "message"); !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	w.grant(user, "children", rightsForConfigMaps)
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
}

// A status that the kind's schema refuses is written when the schema takes it.
func TestRefusedStatusThatASchemaMends(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition := w.definition("Note")
	statusSchema(t, definition)["properties"].(map[string]any)["text"] = map[string]any{"type": "string", "maxLength": int64(5)}
	w.install(definition)
	w.rule("note", note("x")+"  status: {text: \"${parent.spec.text}\"}\n")
	w.run()
	w.parent("Note", "n", "{text: much too long}")
	w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	w.patch(crds, "", definition.GetName(), widerText(t, definition))
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.await(w.resource("Note"), w.home, "n", "says all of it", has("much too long", "status", "text"))
}

// widerText is a patch of a definition that lets status.text be longer.
func widerText(t *testing.T, definition *unstructured.Unstructured) string {
	t.Helper()
	wider := definition.DeepCopy()
	statusSchema(t, wider)["properties"].(map[string]any)["text"] = map[string]any{"type": "string", "maxLength": int64(50)}
	text, err := json.Marshal(map[string]any{"spec": map[string]any{"versions": field(wider, "spec", "versions")}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A request for a reconcile ends the pauses after failures once, also for a parent that the rule no longer selects.
func TestRequestOfAParentThatCannotBeLetGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", strings.Replace(note("x"), "kind: Note}", `kind: Note, when: "${!has(parent.spec.off)}"}`, 1)+"  requeueAfter: 1s\n")
	user := w.user()
	w.grant(user, "parents", rightsForParents)
	w.grant(user, "children", `[{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, update]}]`)
	w.runAs(user, func(o *engine.Options) { o.RetryMax = time.Hour })
	for _, name := range []string{"kept", "left"} {
		w.parent("Note", name, "{}")
		w.await(w.resource("Note"), w.home, name, "is ready", isTrue("Ready"))
	}
	w.patch(w.resource("Note"), w.home, "left", `{"metadata": {"annotations": {"kanon.dev/reconcile-at": "now"}}, "spec": {"off": "yes"}}`)
	w.awaitLooks("left", 3)
	before := w.looks("left")
	w.awaitLooks("kept", 10)
	if more := w.looks("left") - before; more > 12 {
		t.Errorf("there were %d reconciles of the parent that cannot be let go, beside 10 with a second between them: its pauses do not grow", more)
	}
}

func TestFailedExpressionNamesItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	w.run()
	w.parent("Box", "red", "{size: 3}")
	stalled := w.await(w.resource("Box"), w.home, "red", "is stalled", isTrue("Stalled"))
	message := conditionField(stalled, "Stalled", "message")
	if want := "spec.color is missing (child config: template.data.color); the rule's author can read it with ?."; !strings.HasPrefix(message, want) {
		t.Errorf("the message does not begin with %q: %s", want, message)
	}
	w.await(services, w.home, "red", "is made all the same", exists)
	w.patch(w.resource("Box"), w.home, "red", `{"spec":{"color":"red"}}`)
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
}

// What the API server refuses stalls the parent; what was there stays.
func TestRefusedChild(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", strings.ReplaceAll(boxRule, "[{port: 80}]", "[{port: \"${parent.spec.?port.orValue(80)}\"}]"))
	w.run()
	w.parent("Box", "red", "{color: red}")
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	service := w.get(services, w.home, "red")
	w.patch(w.resource("Box"), w.home, "red", `{"spec":{"port":70000}}`)
	stalled := w.await(w.resource("Box"), w.home, "red", "is stalled", isTrue("Stalled"))
	if reason, message := conditionField(stalled, "Stalled", "reason"), conditionField(stalled, "Stalled", "message"); reason != "Invalid" || !strings.Contains(message, "65535") {
		t.Errorf("the condition says %s: %s", reason, message)
	}
	if w.get(services, w.home, "red").GetUID() != service.GetUID() {
		t.Error("a refused change replaced the Service")
	}
	w.patch(w.resource("Box"), w.home, "red", `{"spec":{"port":81}}`)
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
}

// A conflict goes away by itself, so that neither a condition nor the log tells of it. If something
// answers each write of the finalizer with a conflict, the log tells once.
func TestEndlessConflictIsLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("first")+"  finalize: {until: \"${true}\"}\n")
	var refuses atomic.Bool
	refuses.Store(true)
	config := w.clientConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/notes/x") && refuses.Load() {
				return conflict(r), nil
			}
			return next.RoundTrip(r)
		})
	})
	client, err := watch.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w.run(func(o *engine.Options) { o.Client, o.RetryMax = client, 200*time.Millisecond })
	w.parent("Note", "x", "{}")
	w.awaitLooks("x", 15)
	logged := w.errorsOf("x")
	if len(logged) != 1 || !strings.Contains(logged[0], "Objects change during each reconcile; retrying: finalizer: ") {
		t.Errorf("the log has %q", logged)
	}
	refuses.Store(false)
	w.await(w.resource("Note"), w.home, "x", "is ready", isTrue("Ready"))
	w.quiet()
}

// conflict is the answer to a request that somebody else came before.
func conflict(r *http.Request) *http.Response {
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"it changed"}`
	return &http.Response{
		StatusCode: http.StatusConflict, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}
