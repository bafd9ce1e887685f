package engine

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/wire"
)

func taggingEngine(t *testing.T) *Engine {
	t.Helper()
	ring, err := keyring.Generate(time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return &Engine{marks: mark.NewMarks(func() *keyring.Keyring { return ring })}
}

// An EndpointSlice has copies of its Service's labels, and does not count for a child.
func TestTagOfACopyOfLabels(t *testing.T) {
	e := taggingEngine(t)
	slice := wire.Of(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata": map[string]any{
			"namespace": "ns", "name": "web-x7", "uid": "u", "creationTimestamp": time.Now().Format(time.RFC3339),
			"labels": map[string]any{mark.LabelRule: "0123456789abcdef"},
			"ownerReferences": []any{
				map[string]any{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "s", "controller": true},
			},
		},
	}})
	if tag, inView := e.tagOf(monitor.Key{}, slice); tag != "" || !inView {
		t.Errorf("an object that is no child has the tag %q, and is in view: %t", tag, inView)
	}
	if tag, inView := e.tagOf(monitor.Key{Selector: mark.LabelRule}, slice); inView {
		t.Errorf("a copy of labels is in view, with the tag %q", tag)
	}
}

// Children are found by rule and parent, also those that lost their reference.
func TestTagsOfAParent(t *testing.T) {
	op := &operator{id: "0123456789abcdef", parent: restmapping.Kind{GVK: schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}}}
	k := queue.Key{Rule: op.id, Parent: types.NamespacedName{Namespace: "ns", Name: "web"}}
	other := queue.Key{Rule: op.id, Parent: types.NamespacedName{Namespace: "ns", Name: "web-2"}}
	seen := map[string]bool{}
	for _, tag := range append(op.tagsOf(k), op.tagsOf(other)...) {
		child := wire.Of(&unstructured.Unstructured{Object: map[string]any{"kind": "A"}}).Tagged(tag)
		if ruleOfTag(child) != op.id || seen[tag] {
			t.Errorf("the tag %q is of rule %q, and was there before: %t", tag, ruleOfTag(child), seen[tag])
		}
		seen[tag] = true
	}
	if found, ok := queue.ParseKey(op.tagsOf(k)[0]); !ok || found != k {
		t.Errorf("the tag %q is read as %v", op.tagsOf(k)[0], found)
	}
	if found, ok := queue.ParseKey(op.tagsOf(k)[1]); ok {
		t.Errorf("the tag of a child that lost its reference is read as %v", found)
	}
}
