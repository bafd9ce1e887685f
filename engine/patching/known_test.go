package patching

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
)

// What is known of patches goes with the patch, and all of it with the object.
func TestPatchesAreForgotten(t *testing.T) {
	t.Parallel()
	w := NewWriter(nil, apply.Reserved{})
	know := func(uid types.UID, manager string, state uint64) {
		obj := &unstructured.Unstructured{}
		obj.SetUID(uid)
		w.rememberState(Patch{Manager: manager, Content: &Part{}}, obj, state)
	}
	for _, uid := range []types.UID{"a", "b"} {
		know(uid, "one", 1)
		know(uid, "other", 2)
	}
	know("a", "one", 0)
	w.Forget("a", "none")
	if len(w.known["a"]) != 1 || w.known["a"]["other"].state != 2 {
		t.Errorf("of an object of which one patch went, %v is known", w.known["a"])
	}
	w.Forget("a", "other")
	w.ForgetTarget("b")
	w.ForgetTarget("never seen")
	if len(w.known) != 0 {
		t.Errorf("%v is kept", w.known)
	}
}
