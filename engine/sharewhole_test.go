package engine

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/restmapping"
)

func TestShareWhole(t *testing.T) {
	t.Parallel()
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	gvk := gvr.GroupVersion().WithKind("ConfigMap")
	of := func(whole bool) *operator {
		op := &operator{
			children: map[schema.GroupVersionKind]restmapping.Kind{gvk: {GVK: gvk, GVR: gvr}},
			whole:    map[schema.GroupVersionResource]bool{},
		}
		if whole {
			op.whole[gvr] = true
		}
		return op
	}
	key := func(op *operator) monitor.Key { return op.childKey(gvr) }

	runs, reads, starts := of(false), of(true), of(false)
	shareWhole([]*operator{runs, starts}, []*operator{starts})
	if !key(runs).Heads || key(starts) != key(runs) {
		t.Error("nobody reads, and the content is kept")
	}
	shareWhole([]*operator{runs, reads, starts}, []*operator{starts})
	if key(starts) != key(reads) || key(starts).Heads {
		t.Error("who starts has an informer of its own")
	}
	if !key(runs).Heads {
		t.Error("who runs has got an informer that may not have filled")
	}
}
