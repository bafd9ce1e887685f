package feedback

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/identity"
)

// objectAt is an object at a version.
func objectAt(name, uid, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "uid": uid, "resourceVersion": version},
	}}
}

func isTestManager(manager string) bool { return manager == "own" }

// A leaf of the status that changes in five evaluations, with nothing else new, is a loop.
func TestStatusLoop(t *testing.T) {
	t.Parallel()
	child := identity.Of(objectAt("child", "", ""))
	for name, test := range map[string]struct {
		// sees is what evaluation i sees besides the parent.
		sees func(i int, in *Inputs)
		// spec is that of the parent, and due whether time is a reason for evaluation i.
		spec func(i int) string
		due  func(i int) bool
		// changed are the leaves that evaluation i changes; "status.n" where it is nil.
		changed func(i int) []string
		// want is the evaluation that finds the loop, of which the first saw something new; 0: none of a hundred does.
		want int
	}{
		"nothing else is new": {want: 1 + 5},
		"the parent changes each time": {
			spec: func(i int) string { return fmt.Sprint(i) },
		},
		"the parent changes once": {
			spec: func(i int) string { return fmt.Sprint(i > 2) }, want: 3 + 5,
		},
		"it is time for each": {
			due: func(int) bool { return true },
		},
		"a lookup finds another version each time": {
			sees: func(i int, in *Inputs) {
				in.Lookup("q", []*unstructured.Unstructured{objectAt("x", "x", fmt.Sprint(i))}, nil, "parent")
			},
		},
		"a lookup finds the same": {
			sees: func(_ int, in *Inputs) {
				in.Lookup("q", []*unstructured.Unstructured{objectAt("x", "x", "1")}, nil, "parent")
			}, want: 1 + 5,
		},
		"a lookup finds the parent itself": {
			sees: func(i int, in *Inputs) {
				in.Lookup("q", []*unstructured.Unstructured{objectAt("p", "parent", fmt.Sprint(i))}, nil, "parent")
			}, want: 1 + 5,
		},
		"a lookup fails in another way each time": {
			sees: func(i int, in *Inputs) { in.Lookup("q", nil, errors.New(fmt.Sprint(i)), "parent") },
		},
		"lookups in another order": {
			sees: func(i int, in *Inputs) {
				for j := range 2 {
					in.Lookup((i+j)%2, nil, nil, "parent")
				}
			}, want: 1 + 5,
		},
		"a child changes each time": {
			sees: func(i int, in *Inputs) { in.Child(child, objectAt("child", "c", fmt.Sprint(i))) },
		},
		"a child stays as it is, and its second version in one evaluation does not count": {
			sees: func(i int, in *Inputs) {
				in.Child(child, objectAt("child", "c", "1"))
				in.Child(child, objectAt("child", "c", fmt.Sprint(i)))
			}, want: 1 + 5,
		},
		"a child that does not exist": {
			sees: func(_ int, in *Inputs) { in.Child(child, nil) }, want: 1 + 5,
		},
		"another leaf each time": {
			changed: func(i int) []string { return []string{fmt.Sprint("status.n", i)} },
		},
		"every other evaluation": {
			changed: func(i int) []string { return []string{"status.n"}[i%2:] }, want: 10,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var loop StatusLoop
			found := 0
			for i := 1; i <= 100 && found == 0; i++ {
				in, parent, due, changed := NewInputs(), objectAt("p", "parent", fmt.Sprint(i)), false, []string{"status.n"}
				if test.sees != nil {
					test.sees(i, in)
				}
				if test.spec != nil {
					parent.Object["spec"] = test.spec(i)
				}
				if test.due != nil {
					due = test.due(i)
				}
				if test.changed != nil {
					changed = test.changed(i)
				}
				digest, err := in.Digest(parent, nil, isTestManager)
				if err != nil {
					t.Fatal(err)
				}
				loop.Evaluated(in, digest, due)
				if looping := loop.Looping(changed); len(looping) > 0 {
					if found = i; !slices.Equal(looping, []string{"status.n"}) {
						t.Errorf("the leaves are %q", looping)
					}
				}
				loop.Wrote(changed)
			}
			if found != test.want {
				t.Errorf("it is found in evaluation %d, want %d", found, test.want)
			}
		})
	}
}

// A write of a status changes the status and what is recorded of the write.
func TestIsStatusWrite(t *testing.T) {
	t.Parallel()
	object := func(version, spec, status string, managers ...string) *unstructured.Unstructured {
		obj := objectAt("p", "parent", version)
		obj.SetGeneration(int64(len(version)))
		obj.Object["spec"], obj.Object["status"] = spec, status
		entries := make([]any, len(managers))
		for i, manager := range managers {
			entries[i] = map[string]any{"manager": manager}
			if isTestManager(manager) {
				entries[i] = map[string]any{"manager": manager, "fieldsV1": map[string]any{"f:status": status}}
			}
		}
		obj.Object["metadata"].(map[string]any)["managedFields"] = entries
		return obj
	}
	before := object("1", "a", "x", "other", "own")
	for name, test := range map[string]struct {
		after *unstructured.Unstructured
		want  bool
	}{
		"the status":             {object("22", "a", "y", "other", "own"), true},
		"the spec":               {object("22", "b", "y", "other", "own"), false},
		"another manager":        {object("22", "a", "y", "other", "third", "own"), false},
		"the own manager leaves": {object("22", "a", "", "other"), true},
	} {
		if got := IsStatusWrite(before, test.after, isTestManager); got != test.want {
			t.Errorf("%s: it is a write of the status alone: %v, want %v", name, got, test.want)
		}
	}
	if before.Object["status"] != "x" || len(before.GetManagedFields()) != 2 {
		t.Error("the object was changed")
	}
}

// The leaves of a status that change are named, a list as a whole.
func TestChangedLeaves(t *testing.T) {
	t.Parallel()
	have := map[string]any{"n": int64(1), "list": []any{"a"}, "deep": map[string]any{"x": "1", "y": "2"}, "others": "z"}
	for name, test := range map[string]struct {
		wanted map[string]any
		want   []string
	}{
		"nothing":           {nil, nil},
		"the same":          {map[string]any{"n": 1.0, "list": []any{"a"}, "deep": map[string]any{"x": "1"}}, nil},
		"a number":          {map[string]any{"n": int64(2)}, []string{"status.n"}},
		"a list":            {map[string]any{"list": []any{"a", "b"}}, []string{"status.list"}},
		"a field in a map":  {map[string]any{"deep": map[string]any{"y": "3", "x": "1", "new": "4"}}, []string{"status.deep.new", "status.deep.y"}},
		"a map for a value": {map[string]any{"n": map[string]any{"a": "b"}}, []string{"status.n.a"}},
	} {
		if got := ChangedLeaves("status", test.wanted, have); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q change, want %q", name, got, test.want)
		}
	}
}
