package rules

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Ending says what becomes of a child that the rule renders no more, and of one
// whose parent is deleted.
type Ending struct {
	WhenPruned, WhenDeleted syntax.DeletionPolicy
}

// compiledDeletion has the expressions of a deletionPolicy; nil where it says so
// without one.
type compiledDeletion struct {
	whenPruned, whenDeleted template
}

// deletion compiles a child's deletionPolicy. Where it takes an expression, what the
// Child says of it is empty.
func (c *compiler) deletion(spec *syntax.Child, child *compiledChild, sc *compileScope, u *flow.Uses) {
	policy := func(n *yamltree.Node, field string) (syntax.DeletionPolicy, template) {
		text, _ := n.Text()
		if n == nil || !syntax.HasExpression(text) {
			if text == "" {
				return syntax.EndDelete, nil
			}
			return syntax.DeletionPolicy(text), nil
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
	if one := spec.Deletion.WhenPruned; one != nil && one == spec.Deletion.WhenDeleted {
		child.Ending.WhenPruned, child.deletion.whenPruned = policy(one, "")
		child.Ending.WhenDeleted, child.deletion.whenDeleted = child.Ending.WhenPruned, child.deletion.whenPruned
		return
	}
	child.Ending.WhenPruned, child.deletion.whenPruned = policy(spec.Deletion.WhenPruned, ".whenPruned")
	child.Ending.WhenDeleted, child.deletion.whenDeleted = policy(spec.Deletion.WhenDeleted, ".whenDeleted")
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
	if out != (Ending{syntax.EndDelete, syntax.EndDelete}) {
		if e.deletions == nil {
			e.deletions = make(map[identity]Ending)
		}
		e.deletions[id] = out
	}
	return nil
}

func deletionOf(t template, s *scope) (syntax.DeletionPolicy, *problem) {
	text, p := textOf(t, s)
	if p == nil && !slices.Contains(syntax.DeletionPolicies(), text) {
		p = failure("must be %s, and is %s", strings.Join(syntax.DeletionPolicies(), " or "), s.ev.shown(text))
	}
	return syntax.DeletionPolicy(text), p
}

// Ending says what is to become of an object that Next gave.
func (e *Evaluation) Ending(object *unstructured.Unstructured) Ending {
	if out, ok := e.deletions[identityOf(object)]; ok {
		return out
	}
	return Ending{syntax.EndDelete, syntax.EndDelete}
}
