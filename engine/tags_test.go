package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/wire"
)

// An EndpointSlice has copies of its Service's labels. It is found by the rule and the parent that it
// may belong to, but does not count for one of theirs.
func TestTagOfACopyOfLabels(t *testing.T) {
	slice := wire.Of(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata": map[string]any{
			"namespace": "ns", "name": "web-x7", "uid": "u",
			"labels": map[string]any{apply.LabelRule: "r"},
			"ownerReferences": []any{
				map[string]any{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "s", "controller": true},
			},
		},
	}})
	if tag := tagOf(monitor.Key{}, slice); tag != "" {
		t.Errorf("an object that is no child has the tag %q", tag)
	}
	slice = slice.Tagged(tagOf(monitor.Key{Selector: apply.LabelRule}, slice))
	want := queue.Key{Rule: "r", Parent: types.NamespacedName{Namespace: "ns", Name: "web"}}
	if k, ok := keyOfTag(slice); !ok || k != want {
		t.Errorf("the tag %q is read as %v, %t", slice.Tag(), k, ok)
	}
	values, err := indexByParent(slice)
	if diff := cmp.Diff([]string{want.String()}, values); diff != "" || err != nil {
		t.Errorf("index (-want +got):\n%s%v", diff, err)
	}
	if claims(slice) {
		t.Error("it counts as a child")
	}
}
