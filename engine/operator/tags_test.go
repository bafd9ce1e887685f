package operator

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
)

// Children are found by rule and parent, also those that lost their reference.
func TestTagsOfAParent(t *testing.T) {
	op := &Plan{ID: "0123456789abcdef", Parent: restmapping.Kind{GVK: schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}}}
	k := queue.Key{Rule: op.ID, Parent: types.NamespacedName{Namespace: "ns", Name: "web"}}
	other := queue.Key{Rule: op.ID, Parent: types.NamespacedName{Namespace: "ns", Name: "web-2"}}
	seen := map[string]bool{}
	for _, tag := range append(op.TagsOf(k), op.TagsOf(other)...) {
		child := watch.Of(&unstructured.Unstructured{Object: map[string]any{"kind": "A"}}).Tagged(tag)
		if RuleOfTag(child) != op.ID || seen[tag] {
			t.Errorf("the tag %q is of rule %q, and was there before: %t", tag, RuleOfTag(child), seen[tag])
		}
		seen[tag] = true
	}
	if found, ok := queue.ParseKey(op.TagsOf(k)[0]); !ok || found != k {
		t.Errorf("the tag %q is read as %v", op.TagsOf(k)[0], found)
	}
	if found, ok := queue.ParseKey(op.TagsOf(k)[1]); ok {
		t.Errorf("the tag of a child that lost its reference is read as %v", found)
	}
}
