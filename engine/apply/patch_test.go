package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// What is known of patches goes with the patch, and all of it with the object.
func TestPatchesAreForgotten(t *testing.T) {
	t.Parallel()
	w := &Writer{patched: make(map[types.UID]map[string]uint64)}
	know := func(uid types.UID, manager string, state uint64) {
		obj := &unstructured.Unstructured{}
		obj.SetUID(uid)
		w.rememberPatchState(Patch{Manager: manager}, obj, state)
	}
	for _, uid := range []types.UID{"a", "b"} {
		know(uid, "one", 1)
		know(uid, "other", 2)
	}
	know("a", "one", 0)
	w.ForgetPatch("a", "none")
	if len(w.patched["a"]) != 1 || w.patched["a"]["other"] != 2 {
		t.Errorf("of an object of which one patch went, %v is known", w.patched["a"])
	}
	w.ForgetPatch("a", "other")
	w.ForgetPatches("b")
	w.ForgetPatches("never seen")
	if len(w.patched) != 0 {
		t.Errorf("%v is kept", w.patched)
	}
}
