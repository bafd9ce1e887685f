package monitor

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestPlan(t *testing.T) {
	a, b, c := keyOf("a"), keyOf("b"), keyOf("c")
	tests := map[string]struct {
		have   []Key
		wanted map[string][]Key
		want   difference
	}{
		"nothing":           {},
		"first":             {wanted: map[string][]Key{"x": {a, b}}, want: difference{add: []Key{a, b}}},
		"shared":            {wanted: map[string][]Key{"x": {a}, "y": {a}}, want: difference{add: []Key{a}}},
		"named twice":       {wanted: map[string][]Key{"x": {a, a}}, want: difference{add: []Key{a}}},
		"kept for another":  {have: []Key{a, b}, wanted: map[string][]Key{"y": {a}}, want: difference{remove: []Key{b}}},
		"all at once":       {have: []Key{a, b}, wanted: map[string][]Key{"x": {b, c}}, want: difference{add: []Key{c}, remove: []Key{a}}},
		"released":          {have: []Key{a, b}, want: difference{remove: []Key{a, b}}},
		"nothing to change": {have: []Key{a}, wanted: map[string][]Key{"x": {a}, "y": {a}}, want: difference{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			have := map[Key]*monitor{}
			for _, key := range tc.have {
				have[key] = nil
			}
			got := differenceFrom(have, tc.wanted)
			for _, keys := range [][]Key{got.add, got.remove} {
				slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.GVR.Resource, b.GVR.Resource) })
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(difference{})); diff != "" {
				t.Errorf("wrong difference (-want +got):\n%s", diff)
			}
		})
	}
}

func keyOf(resource string) Key {
	return Key{GVR: schema.GroupVersionResource{Version: "v1", Resource: resource}}
}
