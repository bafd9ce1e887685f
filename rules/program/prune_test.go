package program_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/program"
)

func TestMayPrune(t *testing.T) {
	t.Parallel()
	kind := func(name string) schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: name} }
	p := &program.Program{
		ByID: map[string]int{"list": 0, "single": 1, "twin": 2},
		Children: []*program.Child{
			{ID: "list", GVK: kind("Secret"), IsList: true}, {ID: "single", GVK: kind("Service")}, {ID: "twin", GVK: kind("Secret")},
		},
	}
	for name, tc := range map[string]struct {
		node, stuck string
		exists      bool
		want        bool
	}{
		"all is current":                        {node: "single", exists: true, want: true},
		"another kind, which does not exist":    {node: "list", stuck: "single", want: true},
		"another kind, which exists":            {node: "list", stuck: "single", exists: true},
		"the same kind, which does not exist":   {node: "list", stuck: "twin"},
		"its own node":                          {node: "list", stuck: "list"},
		"no item of a list":                     {node: "twin", stuck: "single"},
		"a node that the rule no longer has":    {node: "gone", stuck: "single"},
		"no longer in the rule, all is current": {node: "gone", want: true},
	} {
		for _, state := range []program.State{program.StateWaiting, program.StateFailed, program.StateNotApplied} {
			var results []program.NodeResult
			for _, child := range p.Children {
				result := program.NodeResult{ID: child.ID, State: program.StateApplied}
				if child.ID == tc.stuck {
					result.State = state
				}
				results = append(results, result)
			}
			if got := p.MayPrune(tc.node, results, func(string) bool { return tc.exists }); got != tc.want {
				t.Errorf("%s, %s: got %t", name, state, got)
			}
		}
	}
}
