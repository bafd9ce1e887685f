package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	clientopenapi "k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/restmapping/openapi"
)

// world is one namespace of the real API server, with a parent, writers of children and statuses whose requests are recorded, and a client for
// everybody else.
type world struct {
	t         *testing.T
	namespace string
	parent    *unstructured.Unstructured
	owner     mark.Owner
	requests  *recorder
	writer    *Writer
	statuses  *StatusWriter
	ring      *keyring.Keyring
	// others writes without being recorded.
	others dynamic.Interface
}

var sharedSchemas struct {
	once sync.Once
	all  *openapi.Published
}

// clusterSchemas are read once for all tests: a document has more than a megabyte.
func clusterSchemas(t *testing.T) *openapi.Published {
	t.Helper()
	config := controlplanetest.Config(t)
	sharedSchemas.once.Do(func() {
		client, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		sharedSchemas.all = openapi.NewPublished(clientopenapi.NewClientWithContext(client.RESTClient()))
	})
	return sharedSchemas.all
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	config := controlplanetest.Config(t)
	others, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, namespace: controlplanetest.Namespace(t, config), requests: &recorder{}, ring: testRing(), others: others}
	w.parent = w.post("someone", `{apiVersion: v1, kind: ConfigMap, metadata: {name: parent}}`)
	w.owner = mark.Owner{
		RuleID: mark.RuleID("kanon-system", "kanon-system", t.Name()), Rule: "kanon-system/test", Node: "node",
		Parent: mark.RefOf(w.parent),
	}
	w.restart()
	return w
}

// restart replaces the writers, which remember, by new ones.
func (w *world) restart() { w.restartAs("") }

// restartAs is restart with the rights of a user, or with all where there is none.
func (w *world) restartAs(user string) {
	w.t.Helper()
	config := rest.CopyConfig(controlplanetest.Config(w.t))
	config.Impersonate.UserName = user
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return w.requests.over(next) })
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	statuses := map[string]bool{"Deployment": true, "Service": true, "Job": true, "PersistentVolumeClaim": true}
	api := NewAPI(client, clusterSchemas(w.t), func(gvk schema.GroupVersionKind) bool { return statuses[gvk.Kind] })
	w.statuses = NewStatusWriter(api)
	w.writer = New(Options{
		Server: api, Marks: mark.NewMarks(func() *keyring.Keyring { return w.ring }),
		NameOf: func(string) string { return "kanon-system/test" },
		IsGone: func(mark.Owner) bool { return false },
	})
}

// recorder keeps what requests were sent.
type recorder struct {
	mu   sync.Mutex
	sent []string
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (r *recorder) over(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		verb := request.Method
		switch request.Header.Get("Content-Type") {
		case string(types.ApplyPatchType):
			verb = "APPLY"
		case string(types.JSONPatchType):
			verb = "JSONPATCH"
		}
		r.mu.Lock()
		r.sent = append(r.sent, verb)
		r.mu.Unlock()
		return next.RoundTrip(request)
	})
}

// take returns the verbs since it was last called, separated by spaces.
func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := strings.Join(r.sent, " ")
	r.sent = nil
	return sent
}

func resourceOf(obj *unstructured.Unstructured) schema.GroupVersionResource {
	plural := strings.ToLower(obj.GetKind()) + "s"
	if stem, ok := strings.CutSuffix(plural, "ys"); ok {
		plural = stem + "ies"
	}
	if stem, ok := strings.CutSuffix(plural, "sss"); ok {
		plural = stem + "sses"
	}
	return obj.GroupVersionKind().GroupVersion().WithResource(plural)
}

// client is the others' client for the kind of obj in this namespace.
func (w *world) client(obj *unstructured.Unstructured) dynamic.ResourceInterface {
	return w.others.Resource(resourceOf(obj)).Namespace(w.namespace)
}

// object reads YAML into this namespace.
func (w *world) object(text string) *unstructured.Unstructured {
	w.t.Helper()
	obj := object(w.t, text)
	obj.SetNamespace(w.namespace)
	return obj
}

// post creates an object as manager.
func (w *world) post(manager, text string) *unstructured.Unstructured {
	w.t.Helper()
	obj := w.object(text)
	created, err := w.client(obj).Create(w.t.Context(), obj, metav1.CreateOptions{FieldManager: manager})
	if err != nil {
		w.t.Fatal(err)
	}
	return created
}

// get reads an object, in the form in which informers keep it.
func (w *world) get(obj *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	live, err := w.client(obj).Get(w.t.Context(), obj.GetName(), metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return compact(live)
}

// patch changes obj by a JSON patch as manager, perhaps in a subresource.
func (w *world) patch(manager string, obj *unstructured.Unstructured, patch string, subresource ...string) *unstructured.Unstructured {
	w.t.Helper()
	changed, err := w.client(obj).Patch(w.t.Context(), obj.GetName(), types.JSONPatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: manager}, subresource...)
	if err != nil {
		w.t.Fatal(err)
	}
	return changed
}

// child prepares a child of the parent.
func (w *world) child(text string) *Child {
	w.t.Helper()
	c, err := w.writer.Prepare(w.t.Context(), wanted(w.object(text), w.owner, controllerRef(w.parent), fieldset.Policy{}))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// unchanged asks the Writer whether the Deployment is in sync at a glance.
func (w *world) unchanged(live *unstructured.Unstructured) bool {
	w.t.Helper()
	return unchanged(w.writer, wanted(w.object(deployment), w.owner, controllerRef(w.parent), fieldset.Policy{}), live)
}

func controllerRef(parent *unstructured.Unstructured) *metav1.OwnerReference {
	return metav1.NewControllerRef(parent, parent.GroupVersionKind())
}

func (w *world) trySync(c *Child, live *unstructured.Unstructured) (Result, error) {
	w.t.Helper()
	return w.writer.Sync(w.t.Context(), c, live)
}

// sync syncs and demands an action and the requests that were sent for it.
func (w *world) sync(c *Child, live *unstructured.Unstructured, action Action, requests string) *unstructured.Unstructured {
	w.t.Helper()
	w.requests.take()
	result, err := w.trySync(c, live)
	if err != nil {
		w.t.Fatalf("Sync: %v", err)
	}
	if sent := w.requests.take(); result.Action != action || sent != requests {
		w.t.Fatalf("Sync: %s by %q, want %s by %q", result.Action, sent, action, requests)
	}
	return result.Live
}

// fails syncs, demands a class of error, see class, and the requests that were sent for it, and returns the error's text.
func (w *world) fails(c *Child, live *unstructured.Unstructured, wantClass, requests string) string {
	w.t.Helper()
	w.requests.take()
	_, err := w.trySync(c, live)
	if sent := w.requests.take(); class(err) != wantClass || sent != requests {
		w.t.Fatalf("Sync: %v (%s) by %q, want class %s by %q", err, class(err), sent, wantClass, requests)
	}
	return fmt.Sprint(err)
}

// settled demands that a child is in sync without a request, for the Writer that wrote it and for a new one.
func (w *world) settled(c *Child) {
	w.t.Helper()
	live := w.get(c.Object)
	w.sync(c, live, ActionNone, "")
	w.restart()
	w.sync(c, live, ActionNone, "")
}

// value reads a field by path elements; nil where there is none.
func fieldValue(obj *unstructured.Unstructured, path ...string) any {
	v, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil {
		return nil
	}
	return v
}

// fieldsOf returns the paths of a manager's entries as JSON, by operation; what is under metadata is left out.
func fieldsOf(t *testing.T, obj *unstructured.Unstructured, manager string) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for _, e := range fieldset.EntriesOf(obj) {
		if e.Manager != manager {
			continue
		}
		paths, err := e.Text()
		if err != nil {
			t.Fatal(err)
		}
		var content map[string]any
		if err := json.Unmarshal([]byte(paths), &content); err != nil {
			t.Fatal(err)
		}
		delete(content, "f:metadata")
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		fields[e.Operation] = string(text)
	}
	return fields
}

func wantFields(t *testing.T, obj *unstructured.Unstructured, manager string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, fieldsOf(t, obj, manager)); diff != "" {
		t.Errorf("managedFields of %s (-want +got)\n%s", manager, diff)
	}
}

// until watches obj, from its present state on, until done; a minute bounds it.
func (w *world) until(ctx context.Context, obj *unstructured.Unstructured, done func(live *unstructured.Unstructured) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	stream, err := w.client(obj).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + obj.GetName()})
	if err != nil {
		w.t.Fatal(err)
	}
	defer stream.Stop()
	// Of an object that was gone before, the watch says nothing.
	if _, err := w.client(obj).Get(ctx, obj.GetName(), metav1.GetOptions{}); apierrors.IsNotFound(err) && done(nil) {
		return
	}
	for event := range stream.ResultChan() {
		live, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			w.t.Fatalf("watch of %s: %v", obj.GetName(), event.Object)
		}
		if event.Type == "DELETED" {
			live = nil
		}
		if done(live) {
			return
		}
	}
	w.t.Fatalf("the watch of %s ended before what was waited for", obj.GetName())
}
