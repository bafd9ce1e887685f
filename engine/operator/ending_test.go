package operator

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// childOf is a marked child of a node.
func childOf(node, name string, retain mark.Retain) Child {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	obj.SetName(name)
	return Child{Object: obj, Owner: mark.Owner{Node: node, Retain: retain}, IsMarked: true}
}

// The rule that runs decides, else the mark; a child that cannot be proven to be one is kept.
func TestPolicies(t *testing.T) {
	t.Parallel()
	byNode := map[string]program.Ending{
		"deleted": {WhenPruned: syntax.EndDelete, WhenDeleted: syntax.EndDelete},
		"kept":    {WhenPruned: syntax.EndOrphan, WhenDeleted: syntax.EndOrphan},
		"asked":   {},
	}
	unmarked := childOf("deleted", "a", mark.RetainNever)
	unmarked.IsMarked = false
	tests := map[string]struct {
		policies        Policies
		child           Child
		pruned, deleted bool // whether it is kept
	}{
		"the rule deletes, the mark keeps":      {Policies{ByNode: byNode}, childOf("deleted", "a", mark.RetainAlways), false, false},
		"the rule keeps, the mark deletes":      {Policies{ByNode: byNode}, childOf("kept", "a", mark.RetainNever), true, true},
		"an expression: the mark decides":       {Policies{ByNode: byNode}, childOf("asked", "a", mark.RetainWhenPruned), true, false},
		"a node that is gone: the mark decides": {Policies{ByNode: byNode}, childOf("gone", "a", mark.RetainWhenDeleted), false, true},
		"a node that is gone, and nothing kept": {Policies{ByNode: byNode}, childOf("gone", "a", mark.RetainNever), false, false},
		"a mark that proves nothing":            {Policies{ByNode: byNode}, unmarked, true, true},
		"the parent is deleted with orphaning":  {Policies{ByNode: byNode, KeepAll: true}, childOf("deleted", "a", mark.RetainNever), false, true},
		"evaluated while the parent is deleted": {Policies{ByNode: byNode, Decided: map[identity.ID]mark.Retain{identity.Of(childOf("", "a", "").Object): mark.RetainAlways}}, childOf("asked", "a", mark.RetainNever), false, true},
		"evaluated for another child than this": {Policies{ByNode: byNode, Decided: map[identity.ID]mark.Retain{identity.Of(childOf("", "b", "").Object): mark.RetainAlways}}, childOf("asked", "a", mark.RetainNever), false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if pruned, deleted := test.policies.KeepsPruned(test.child), test.policies.KeepsDeleted(test.child); pruned != test.pruned || deleted != test.deleted {
				t.Errorf("kept when pruned %t, when the parent is deleted %t; want %t, %t", pruned, deleted, test.pruned, test.deleted)
			}
		})
	}
	if p := (Policies{ByNode: byNode}); !p.NeedEvaluation() || p.MayKeep("deleted") || !p.MayKeep("kept") || !p.MayKeep("asked") || !p.MayKeep("gone") {
		t.Error("it is not known of which nodes children may have to be kept")
	}
}

// Of a node in order, one child is deleted at a time, the last by name first.
func TestInOrder(t *testing.T) {
	t.Parallel()
	children := []Child{childOf("pods", "web-2", ""), childOf("pods", "web-10", ""), childOf("other", "a", ""), childOf("pods", "web-1", "")}
	tests := map[string]struct {
		ordered  map[string]bool
		deleting bool
		want     string
	}{
		"no order":                {nil, false, "web-2 web-10 a web-1"},
		"the last first":          {map[string]bool{"pods": true}, false, "web-10 a"},
		"none while one is going": {map[string]bool{"pods": true}, true, "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := names(InOrder(children, test.ordered, func(string) bool { return test.deleting })); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// What depends on others goes before them, and what belongs to no node any more first of all.
func TestDependents(t *testing.T) {
	t.Parallel()
	nodes := []string{"database", "app"}
	rank := func(node string) int { return slices.Index(nodes, node) }
	children := []Child{childOf("database", "db", ""), childOf("app", "web", ""), childOf("app", "api", "")}
	tests := map[string]struct {
		children    []Child
		next, later string
	}{
		"two levels":                       {children, "web api", "db"},
		"one of a node that is gone":       {append(slices.Clone(children), childOf("gone", "old", "")), "old", "db web api"},
		"one on which nothing depends now": {children[:1], "db", ""},
		"none":                             {nil, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if next, later := Dependents(test.children, rank); names(next) != test.next || names(later) != test.later {
				t.Errorf("got %q and then %q, want %q and then %q", names(next), names(later), test.next, test.later)
			}
		})
	}
}

// A background deletion waits until the children are being deleted, and others until they are gone.
func TestAwaited(t *testing.T) {
	t.Parallel()
	going := childOf("a", "going", "")
	going.Object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1_800_000_000, 0)})
	children := []Child{childOf("a", "stays", ""), going}
	if got := names(Awaited(children, false)); got != "stays" {
		t.Errorf("in the background it waits for %q", got)
	}
	if got := names(Awaited(children, true)); got != "stays going" {
		t.Errorf("in the foreground it waits for %q", got)
	}
}

// The finalizers for the garbage collector say how an object is being deleted.
func TestPropagation(t *testing.T) {
	t.Parallel()
	for want, finalizers := range map[metav1.DeletionPropagation][]string{
		metav1.DeletePropagationBackground: {"example.com/other"},
		metav1.DeletePropagationForeground: {"example.com/other", metav1.FinalizerDeleteDependents},
		metav1.DeletePropagationOrphan:     {metav1.FinalizerOrphanDependents},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetFinalizers(finalizers)
		if got := Propagation(object); got != want {
			t.Errorf("%v: %s, want %s", finalizers, got, want)
		}
	}
}

func names(children []Child) string {
	var found []string
	for _, child := range children {
		found = append(found, child.Object.GetName())
	}
	return strings.Join(found, " ")
}
