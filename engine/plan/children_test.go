package plan

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/kinds/restmapping"
)

// A rule that starts uses the informers of whole children if any rule has them; one that runs keeps its own.
func TestShareInformers(t *testing.T) {
	t.Parallel()
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	gvk := gvr.GroupVersion().WithKind("ConfigMap")
	of := func(whole bool) *Plan {
		p := &Plan{
			Children: map[schema.GroupVersionKind]restmapping.Kind{gvk: {GVK: gvk, GVR: gvr}},
			Whole:    map[schema.GroupVersionResource]bool{},
		}
		if whole {
			p.Whole[gvr] = true
		}
		return p
	}
	key := func(p *Plan) monitor.Key { return p.ChildKey(gvr) }

	runs, reads, starts := of(false), of(true), of(false)
	ShareInformers([]*Plan{runs, starts}, []*Plan{starts})
	if !key(runs).Heads || key(starts) != key(runs) {
		t.Error("no rule reads the content, and it is kept in memory")
	}
	ShareInformers([]*Plan{runs, reads, starts}, []*Plan{starts})
	if key(starts) != key(reads) || key(starts).Heads {
		t.Error("a rule that starts has an informer of its own")
	}
	if !key(runs).Heads {
		t.Error("a rule that runs has an informer that may not have filled")
	}
}
