package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/internal/controlplanetest"
)

func taggingEngine(t *testing.T) *Engine {
	t.Helper()
	ring, err := keyring.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return &Engine{marks: mark.NewMarks(func() *keyring.Keyring { return ring })}
}

// An EndpointSlice has copies of its Service's labels, and does not count for a child.
func TestTagOfACopyOfLabels(t *testing.T) {
	e := taggingEngine(t)
	slice := watch.Of(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata": map[string]any{
			"namespace": "ns", "name": "web-x7", "uid": "u", "creationTimestamp": time.Now().Format(time.RFC3339),
			"labels": map[string]any{mark.LabelRule: "0123456789abcdef"},
			"ownerReferences": []any{
				map[string]any{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "s", "controller": true},
			},
		},
	}})
	if tag, inView := e.tagOf(watch.Key{}, slice); tag != "" || !inView {
		t.Errorf("an object that is no child has the tag %q, and is in view: %t", tag, inView)
	}
	if tag, inView := e.tagOf(watch.Key{Selector: mark.LabelRule}, slice); inView {
		t.Errorf("a copy of labels is in view, with the tag %q", tag)
	}
}

// Of large objects that have the label of children and a mark that proves nothing, the informer keeps nothing but who they
// are, whether they were there before it or came later.
func TestFloodOfForgedChildren(t *testing.T) {
	t.Parallel()
	e := taggingEngine(t)
	config := controlplanetest.Config(t)
	namespace := controlplanetest.Namespace(t, config)
	client, err := watch.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	const objects, size = 20, 1000 // of no size that would slow the control plane, which other tests share
	objectOf := func(name string, data map[string]any) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data}}
		obj.SetNamespace(namespace)
		obj.SetName(name)
		owner := mark.Owner{
			RuleID: "0123456789abcdef", Node: "node", Tracked: true,
			Parent: mark.Ref{Group: "example.com", Kind: "App", Namespace: namespace, Name: "app", UID: "u"},
		}
		text := e.marks.Add(obj, owner, nil)
		metadata, _ := obj.Object["metadata"].(map[string]any)
		metadata["annotations"].(map[string]any)[mark.AnnotationApplied] = text.String()
		return obj
	}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	create := func(obj *unstructured.Unstructured) {
		t.Helper()
		if _, err := client.Resource(configMaps).Namespace(namespace).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	flood := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			obj := objectOf("original", map[string]any{"bulk": strings.Repeat("x", size)})
			obj.SetName(fmt.Sprintf("flood-%d", i)) // its mark is that of another object
			create(obj)
		}
	}
	synced, events := make(chan struct{}, 1), make(chan watch.Event, objects)
	monitors := watch.New(watch.Options{
		Client: client, Tag: e.tagOf, Handle: func(event watch.Event) { events <- event }, Synced: func(watch.Key) { synced <- struct{}{} },
		Failed: func(watch.Key) {}, Requested: e.countWatch,
	})
	flood(0, objects/2) // which are listed
	key := watch.Key{GVR: configMaps, Namespace: namespace, Selector: mark.LabelRule}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { monitors.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	monitors.Watch("owner", key)
	<-synced
	flood(objects/2, objects) // which are watched
	create(objectOf("genuine", map[string]any{"a": "b"}))
	if event := <-events; event.New.Name() != "genuine" || event.New.Tag() == "" {
		t.Errorf("there is an event of %s, with the tag %q", event.New.Name(), event.New.Tag())
	}
	for i := range objects {
		if _, hidden := monitors.View(key).Hidden(namespace, fmt.Sprintf("flood-%d", i)); !hidden {
			t.Errorf("more is kept of flood-%d than who it is", i)
		}
	}
	if shown := monitors.Unread(key); len(shown) != 1 {
		t.Errorf("there are %v", shown)
	}
}
