package program

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/program/template"
)

// skipMissing settles the optional children whose kind is known to be missing: they
// are skipped, and neither their when nor their forEach is evaluated.
func (e *Evaluation) skipMissing() {
	if len(e.missing) == 0 {
		return
	}
	for i, child := range e.prog.Children {
		if !e.isLeftOut(child.GVK, child.Optional) || e.nodes[i].state != nodePending {
			continue
		}
		n := &e.nodes[i]
		if n.state = nodeSkipped; child.IsList { // readers get a list, which lacks what is skipped
			n.state, n.list = nodeApplied, []any{}
		}
	}
}

// isLeftOut reports whether a child, a patch or a lookup is skipped because its kind is missing.
func (e *Evaluation) isLeftOut(gvk schema.GroupVersionKind, optional bool) bool {
	absence, missing := e.missing[gvk]
	return missing && optional && absence.Certain
}

// whySkipped says why a child is skipped.
func (e *Evaluation) whySkipped(i int) string {
	if child := e.prog.Children[i]; e.isLeftOut(child.GVK, child.Optional) {
		return e.missing[child.GVK].Message
	}
	return "its when is false"
}

// checkKind is the problem of a node whose kind is missing; nil if the kind exists. The arrival of the kind ends it.
func (e *Evaluation) checkKind(gvk schema.GroupVersionKind) *template.Problem {
	if absence, missing := e.missing[gvk]; missing {
		return &template.Problem{Verdict: template.Waits, KindMissing: true, Message: absence.Message}
	}
	return nil
}
