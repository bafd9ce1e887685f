package watch_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/internal/controlplanetest"
)

// patience bounds every wait, so that what never comes fails the test instead of
// hanging it.
const patience = 30 * time.Second

func configMaps() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
}

func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// fixture is a running set of monitors, and a namespace to do things in.
type fixture struct {
	cfg       *rest.Config // whose requests are not counted
	client    dynamic.Interface
	namespace string
	monitors  *watch.Monitors
	events    events
	sent      *requests     // by the monitors
	logged    *atomic.Int64 // lines about watches that fail
}

func clientFor(t *testing.T, config *rest.Config) *watch.Client {
	t.Helper()
	client, err := watch.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func newFixture(t *testing.T, options ...func(*watch.Options)) fixture {
	t.Helper()
	plain := controlplanetest.Config(t)
	cfg, sent := record(plain)
	f := fixture{
		cfg:       plain,
		client:    dynamic.NewForConfigOrDie(plain),
		namespace: controlplanetest.Namespace(t, plain),
		events:    events{seen: make(chan string, 10_000), ready: make(chan watch.Key, 100)},
		sent:      sent,
		logged:    &atomic.Int64{},
	}
	verifyNoLeaks(t)
	o := watch.Options{
		Client:    clientFor(t, cfg),
		Handle:    f.events.handle,
		Synced:    func(k watch.Key) { f.events.ready <- k },
		Failed:    func(watch.Key) {},
		Requested: func(schema.GroupResource, string) {},
		Tag:       everyTag,
		Indexers:  watch.ByLabels("rule", "parent"),
	}
	for _, option := range options {
		option(&o)
	}
	monitors := watch.New(o)
	f.monitors = monitors

	log := funcr.New(func(_, line string) {
		if strings.Contains(line, "Cannot watch") {
			f.logged.Add(1)
		}
	}, funcr.Options{})
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), log))
	var running sync.WaitGroup
	running.Go(func() { monitors.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return f
}

// everyTag has every object in view, without a tag.
func everyTag(watch.Key, *watch.Object) (string, bool) { return "", true }

func (f fixture) key(selector string) watch.Key {
	return watch.Key{GVR: configMaps(), Namespace: f.namespace, Selector: selector}
}

// watches waits until that many watches are open.
func (f fixture) watches(t *testing.T, want int) {
	t.Helper()
	poll(t, fmt.Sprintf("%d open watches", want), func() bool { return f.sent.openWatches() == want })
}

func (f fixture) create(t *testing.T, name string, labels map[string]string) *unstructured.Unstructured {
	t.Helper()
	return f.createIn(t, f.namespace, name, labels)
}

func (f fixture) createIn(t *testing.T, namespace, name string, labels map[string]string) *unstructured.Unstructured {
	t.Helper()
	return f.make(t, namespace, name, labels, func(*unstructured.Unstructured) {})
}

// createWith creates an object after a change of it.
func (f fixture) createWith(t *testing.T, name string, labels map[string]string, change func(*unstructured.Unstructured)) {
	t.Helper()
	f.make(t, f.namespace, name, labels, change)
}

func (f fixture) make(t *testing.T, namespace, name string, labels map[string]string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "a"},
	}}
	obj.SetName(name)
	obj.SetLabels(labels)
	change(obj)
	created, err := f.client.Resource(configMaps()).Namespace(namespace).Create(t.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// updateOne changes the object called one.
func (f fixture) updateOne(t *testing.T, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	client := f.client.Resource(configMaps()).Namespace(f.namespace)
	obj, err := client.Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change(obj)
	updated, err := client.Update(t.Context(), obj, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return updated
}

func (f fixture) delete(t *testing.T, name string) {
	t.Helper()
	if err := f.client.Resource(configMaps()).Namespace(f.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// createDefinition makes the API server serve a resource, cluster-scoped and of the
// kind Thing, and waits until it does.
func (f fixture) createDefinition(t *testing.T, gvr schema.GroupVersionResource) {
	t.Helper()
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": gvr.GroupResource().String()},
		"spec": map[string]any{
			"group": gvr.Group,
			"scope": "Cluster",
			"names": map[string]any{"plural": gvr.Resource, "kind": "Thing"},
			"versions": []any{map[string]any{
				"name": gvr.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
	if _, err := f.client.Resource(definitions()).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = f.client.Resource(definitions()).Delete(context.WithoutCancel(t.Context()), crd.GetName(), metav1.DeleteOptions{})
	})
	poll(t, gvr.String()+" to be served", func() bool {
		_, err := f.client.Resource(gvr).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
}

func (f fixture) deleteDefinition(t *testing.T, gvr schema.GroupVersionResource) {
	t.Helper()
	if err := f.client.Resource(definitions()).Delete(t.Context(), gvr.GroupResource().String(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	poll(t, gvr.String()+" to be gone", func() bool {
		_, err := f.client.Resource(definitions()).Get(t.Context(), gvr.GroupResource().String(), metav1.GetOptions{})
		return err != nil
	})
}

func (f fixture) createThing(t *testing.T, gvr schema.GroupVersionResource, name string) {
	t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(gvr.GroupVersion().String())
	obj.SetKind("Thing")
	obj.SetName(name)
	if _, err := f.client.Resource(gvr).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// events receives what the monitors tell.
type events struct {
	seen  chan string
	ready chan watch.Key
}

func (e events) handle(event watch.Event) {
	switch {
	case event.Old == nil:
		e.seen <- "added " + event.New.Name()
	case event.New == nil:
		e.seen <- "gone " + event.Old.Name()
	default:
		e.seen <- "updated " + event.New.Name()
	}
}

// want waits for the next event and checks which one it is.
func (e events) want(t *testing.T, want string) {
	t.Helper()
	if got := e.receive(t, want, e.seen); got != want {
		t.Errorf("event %q, want %q", got, want)
	}
}

// until waits for an event and passes over those before it.
func (e events) until(t *testing.T, want string) {
	t.Helper()
	for e.receive(t, want, e.seen) != want {
		continue
	}
}

func (events) receive(t *testing.T, what string, from <-chan string) string {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(patience):
		t.Fatalf("waited %s for %s", patience, what)
		return ""
	}
}

// synced waits for the next informer to sync.
func (e events) synced(t *testing.T) watch.Key {
	t.Helper()
	select {
	case key := <-e.ready:
		return key
	case <-time.After(patience):
		t.Fatalf("waited %s for an informer to sync", patience)
		return watch.Key{}
	}
}

func names(list []*unstructured.Unstructured) []string {
	var names []string
	for _, obj := range list {
		names = append(names, obj.GetName())
	}
	return names
}

// version is the object's resource version; "" for none.
func version(obj *unstructured.Unstructured) string {
	if obj == nil {
		return ""
	}
	return obj.GetResourceVersion()
}

// poll waits for what has no event to wait for.
func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return done(), nil
	})
	if err != nil {
		t.Fatalf("wait for %s: %v", what, err)
	}
}
