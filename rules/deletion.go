package rules

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/yamltree"
)

// DeletionPolicy says what becomes of a child that is not wanted any more.
type DeletionPolicy string

const (
	// EndDelete means that it is deleted.
	EndDelete DeletionPolicy = "Delete"
	// EndOrphan means that it stays, and belongs to nobody.
	EndOrphan DeletionPolicy = "Orphan"
)

func deletionPolicies() []string { return []string{string(EndDelete), string(EndOrphan)} }

// Ending says what becomes of a child that the rule renders no more, and of one
// whose parent is deleted.
type Ending struct {
	WhenPruned, WhenDeleted DeletionPolicy
}

// compiledDeletion has the expressions of a deletionPolicy; nil where it says so
// without one.
type compiledDeletion struct {
	whenPruned, whenDeleted template
}

// deletion compiles a child's deletionPolicy. Where it takes an expression, what the
// Child says of it is empty.
func (c *compiler) deletion(spec *childSpec, child *compiledChild, sc *compileScope, u *uses) {
	policy := func(n *yamltree.Node, field string) (DeletionPolicy, template) {
		text, _ := n.Text()
		if n == nil || !hasExpression(text) {
			if text == "" {
				return EndDelete, nil
			}
			return DeletionPolicy(text), nil
		}
		own := *sc
		own.place = sc.place + ".deletionPolicy" + field
		t := c.textField(n, &own, u, "Delete or Orphan", types.StringKind)
		c.try(n, t, own.place, func(s *scope) *problem {
			_, p := deletionOf(t, s)
			return p
		})
		return "", t
	}
	if one := spec.deletion.whenPruned; one != nil && one == spec.deletion.whenDeleted {
		child.Ending.WhenPruned, child.deletion.whenPruned = policy(one, "")
		child.Ending.WhenDeleted, child.deletion.whenDeleted = child.Ending.WhenPruned, child.deletion.whenPruned
		return
	}
	child.Ending.WhenPruned, child.deletion.whenPruned = policy(spec.deletion.whenPruned, ".whenPruned")
	child.Ending.WhenDeleted, child.deletion.whenDeleted = policy(spec.deletion.whenDeleted, ".whenDeleted")
}

// decideDeletion notes what is to become of a rendered object one day.
func (e *Evaluation) decideDeletion(child *compiledChild, s *scope, id identity) *problem {
	out := child.Ending
	var p *problem
	if t := child.deletion.whenPruned; t != nil {
		if out.WhenPruned, p = deletionOf(t, s); p != nil {
			return p.under("deletionPolicy")
		}
	}
	if t := child.deletion.whenDeleted; t != nil {
		if out.WhenDeleted, p = deletionOf(t, s); p != nil {
			return p.under("deletionPolicy")
		}
	}
	if out != (Ending{EndDelete, EndDelete}) {
		if e.deletions == nil {
			e.deletions = make(map[identity]Ending)
		}
		e.deletions[id] = out
	}
	return nil
}

func deletionOf(t template, s *scope) (DeletionPolicy, *problem) {
	text, p := textOf(t, s)
	if p == nil && !slices.Contains(deletionPolicies(), text) {
		p = failure("must be %s, and is %s", strings.Join(deletionPolicies(), " or "), s.ev.shown(text))
	}
	return DeletionPolicy(text), p
}

// Ending says what is to become of an object that Next gave.
func (e *Evaluation) Ending(object *unstructured.Unstructured) Ending {
	if out, ok := e.deletions[identityOf(object)]; ok {
		return out
	}
	return Ending{EndDelete, EndDelete}
}
