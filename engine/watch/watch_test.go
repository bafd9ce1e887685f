package watch

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TestWatch holds which informers a change of what the owners want adds and stops, that the others stay, and that Run
// learns only of those that it must start.
func TestWatch(t *testing.T) {
	tests := map[string]struct {
		before, after map[string][]string // resources by owner
		kept, added   []string
	}{
		"nothing":          {},
		"first":            {after: map[string][]string{"x": {"a", "b"}}, added: []string{"a", "b"}},
		"shared":           {after: map[string][]string{"x": {"a"}, "y": {"a"}}, added: []string{"a"}},
		"named twice":      {after: map[string][]string{"x": {"a", "a"}}, added: []string{"a"}},
		"kept for another": {before: map[string][]string{"x": {"a", "b"}, "y": {"a"}}, after: map[string][]string{"x": nil}, kept: []string{"a"}},
		"all at once": {
			before: map[string][]string{"x": {"a", "b"}}, after: map[string][]string{"x": {"b", "c"}},
			kept: []string{"b"}, added: []string{"c"},
		},
		"released":          {before: map[string][]string{"x": {"a", "b"}}, after: map[string][]string{"x": nil}},
		"nothing to change": {before: map[string][]string{"x": {"a"}, "y": {"a"}}, after: map[string][]string{"x": {"a"}, "y": {"a"}}, kept: []string{"a"}},
	}
	client, err := NewForConfig(&rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := New(Options{Client: client, Handle: func(Event) {}})
			watch := func(wanted map[string][]string) map[Key]*monitor {
				for owner, resources := range wanted {
					m.Watch(owner, keysOf(resources)...)
				}
				return maps.Clone(m.monitors)
			}
			before := watch(tc.before)
			select {
			case <-m.changed:
			default:
			}
			after := watch(tc.after)

			var kept, added []string
			for key, mon := range after {
				if before[key] == mon {
					kept = append(kept, key.GVR.Resource)
				} else {
					added = append(added, key.GVR.Resource)
				}
			}
			slices.Sort(kept)
			slices.Sort(added)
			if diff := cmp.Diff([][]string{tc.kept, tc.added}, [][]string{kept, added}); diff != "" {
				t.Errorf("wrong informers, those kept and those added (-want +got):\n%s", diff)
			}
			for key, mon := range before {
				if stops := mon.state.Load() == stopped; stops != (after[key] == nil) {
					t.Errorf("the informer of %s is stopped: %t", key.GVR.Resource, stops)
				}
			}
			if signalled := len(m.changed) > 0; signalled != (len(added) > 0) {
				t.Errorf("Run learns of the change: %t, and %d informers are to be started", signalled, len(added))
			}
		})
	}
}

func keysOf(resources []string) []Key {
	var keys []Key
	for _, resource := range resources {
		keys = append(keys, Key{GVR: schema.GroupVersionResource{Version: "v1", Resource: resource}})
	}
	return keys
}
