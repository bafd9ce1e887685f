package patching

import (
	"fmt"
	rand "math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/apply/fieldset"
)

// thing is the kind Thing of applytest.
func thing(tb testing.TB) fieldset.Kind {
	tb.Helper()
	k, err := fieldset.NewKind(applytest.ThingGVK(), applytest.Converter(tb, applytest.Schemas), false)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// partOf makes what a parent sets, of a spec and labels in YAML.
func partOf(tb testing.TB, k fieldset.Kind, spec, labels string) *Part {
	tb.Helper()
	part, err := NewPart(k, k.Normalise(applytest.Object(tb, "{apiVersion: test/v1, kind: Thing, metadata: {labels: {"+labels+"}}, spec: {"+spec+"}}"), false))
	if err != nil {
		tb.Fatal(err)
	}
	return part
}

// leftOutOneByOne are the parts that are left out where each is compared with what those
// before it come to.
func leftOutOneByOne(t *testing.T, parts []*Part) []int {
	t.Helper()
	var all *typed.TypedValue
	leaves := &fieldpath.Set{}
	var out []int
	for i, part := range parts {
		own := part.Paths.Leaves()
		if all == nil {
			all, leaves = part.value, own
			continue
		}
		common := leaves.Intersection(own)
		difference, err := all.ExtractItems(common, typed.WithAppendKeyFields()).Compare(part.value.ExtractItems(common, typed.WithAppendKeyFields()))
		if err != nil {
			t.Fatal(err)
		}
		if !difference.Modified.Empty() {
			out = append(out, i)
			continue
		}
		if all, err = all.Merge(part.value); err != nil {
			t.Fatal(err)
		}
		leaves = leaves.Union(own).Leaves()
	}
	return out
}

// As many parts come, change and go, what they come to has everything that they set but those that are left out.
func TestMergeStepByStep(t *testing.T) {
	t.Parallel()
	k := thing(t)
	leftOut := 0
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(1, seed)) //nolint:gosec // the same at every run
		var parts []*Part
		for step := range 200 {
			parts = stepOf(t, k, random, parts)
			merged, contradictions, err := Merge(parts)
			if err != nil {
				t.Fatal(err)
			}
			var out []int
			for _, c := range contradictions {
				if out = append(out, c.Part); slices.Contains(out, c.Other) || c.Other > c.Part || c.Path == "" {
					t.Errorf("seed %d, step %d: a contradiction with what is not there: %+v", seed, step, c)
				}
			}
			if diff := cmp.Diff(leftOutOneByOne(t, parts), out); diff != "" {
				t.Fatalf("seed %d, step %d: left out (-one by one +got):\n%s", seed, step, diff)
			}
			for i, part := range parts {
				for path := range part.Paths.Leaves().All() {
					if _, found := fieldset.LookUp(merged.AsObject(), path); !found && !slices.Contains(out, i) {
						t.Fatalf("seed %d, step %d: of part %d is missing: %s", seed, step, i, path)
					}
				}
			}
			leftOut += len(out)
		}
	}
	if leftOut < 100 {
		t.Errorf("%d parts were left out: that is no test", leftOut)
	}
}

// stepOf has a part come, change, or go.
func stepOf(t *testing.T, k fieldset.Kind, random *rand.Rand, parts []*Part) []*Part {
	t.Helper()
	some := func(parent int) *Part {
		specs := []string{
			fmt.Sprintf("limits: {own%d: v%d}", parent, random.IntN(3)), fmt.Sprintf("limits: {own%d: v%d, all: same}", parent, random.IntN(3)),
			"replicas: 3", "args: [a, b]", fmt.Sprintf("ports: [{port: %d, name: n%d}]", parent, random.IntN(2)), "selector: {a: b}",
			fmt.Sprintf("finalizers: [f%d]", parent%3), "emptyDir: {}", "emptyDir: {medium: m}",
		}
		if random.IntN(8) == 0 {
			specs = []string{"replicas: 4", "args: [b]", "ports: [{port: 1, name: other}]", "selector: {a: c}", "limits: {all: other}", "emptyDir: {medium: other}"}
		}
		return partOf(t, k, specs[random.IntN(len(specs))], "")
	}
	parts = slices.Clone(parts)
	switch i := random.IntN(len(parts) + 1); {
	case i == len(parts) || len(parts) < 4:
		parts = append(parts, some(len(parts)))
	case random.IntN(6) == 0 || len(parts) > 12:
		parts = slices.Delete(parts, i, i+1)
	default:
		parts[i] = some(i)
	}
	return parts
}

// Who contradicts whom is said as by somebody who reads one part after the other.
func TestContradictions(t *testing.T) {
	t.Parallel()
	k := thing(t)
	_, contradictions, err := Merge([]*Part{
		partOf(t, k, "replicas: 1", "a: x"),
		partOf(t, k, "ports: [{port: 80, name: web}]", "b: x"),
		partOf(t, k, "replicas: 2, ports: [{port: 80, name: http}]", "b: w"), // the first of those that it contradicts
		partOf(t, k, "paused: true, finalizers: [f]", "c: w"),
		partOf(t, k, "paused: false, finalizers: [f]", "d: w"),
		partOf(t, k, "ports: [{port: 80, protocol: TCP, name: web}, {port: 80, protocol: UDP, name: http}]", "d: x"),
		partOf(t, k, "ports: [{port: 80, protocol: UDP, name: web}]", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Contradiction{
		{Part: 2, Other: 0, Path: "spec.replicas"},
		{Part: 4, Other: 3, Path: "spec.paused"},
		{Part: 6, Other: 5, Path: `spec.ports[port=80,protocol="UDP"].name`},
	}
	if diff := cmp.Diff(want, contradictions); diff != "" {
		t.Errorf("contradictions (-want +got):\n%s", diff)
	}
	if none, contradictions, err := Merge(nil); err != nil || none != nil || len(contradictions) > 0 {
		t.Errorf("no parts come to %+v, %v, %v", none, contradictions, err)
	}
}

// partsOfMany are those of n parents that set a field of their own and one in common.
func partsOfMany(tb testing.TB, k fieldset.Kind, n int) []*Part {
	tb.Helper()
	parts := make([]*Part, n)
	for i := range parts {
		parts[i] = partOf(tb, k, fmt.Sprintf("limits: {own%05d: v}", i), "all: same")
	}
	return parts
}

// To merge twice as many parts costs little more than twice as much, also where each contradicts the first.
func TestMergeOfManyCosts(t *testing.T) {
	k := thing(t)
	const n = 512
	costs := func(n int) map[string]float64 {
		parts := partsOfMany(t, k, n)
		quarrel := slices.Clone(parts)
		for i := 1; i < n; i += 2 {
			quarrel[i] = partOf(t, k, fmt.Sprintf("limits: {own%05d: v}", i), "all: other")
		}
		found := make(map[string]float64)
		for what, parts := range map[string][]*Part{"all": parts, "quarrel": quarrel} {
			found[what] = testing.AllocsPerRun(1, func() {
				if _, _, err := Merge(parts); err != nil {
					t.Fatal(err)
				}
			})
		}
		return found
	}
	half, whole := costs(n), costs(2*n)
	for what, cost := range whole {
		if cost > 2.6*half[what]+100 {
			t.Errorf("%s: twice as many parts cost %.0f allocations instead of %.0f", what, cost, half[what])
		}
	}
}

// BenchmarkMerge measures what it costs to merge what many parents set in one object.
func BenchmarkMerge(b *testing.B) {
	k := thing(b)
	for _, n := range []int{1000, 5000} {
		parts := partsOfMany(b, k, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Merge(parts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
