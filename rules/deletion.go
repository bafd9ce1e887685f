package rules

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/syntax"
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
