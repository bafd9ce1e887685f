package engine

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/monitor"
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
