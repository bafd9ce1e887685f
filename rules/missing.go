package rules

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/flow"
)

// Absence says why objects of a kind can neither be read nor written now.
type Absence struct {
	// Certain is true where the cluster is known not to have the kind, in any version.
	// Otherwise the kind may exist: discovery failed, or another version is served.
	Certain bool
	// Message is for people: "the cluster has no kind Certificate in cert-manager.io/v1".
	Message string
}

// kindMissing is the problem of a node whose kind is missing. It goes away with an
// event of the kind.
func (a Absence) kindMissing() *problem {
	return &problem{verdict: waits, missing: true, message: a.Message}
}

// skipMissing settles the optional children whose kind is known to be missing: they
// are skipped, and neither their when nor their forEach is evaluated.
func (e *Evaluation) skipMissing() {
	if len(e.missing) == 0 {
		return
	}
	for i, child := range e.prog.children {
		if !e.isLeftOut(child) || e.nodes[i].state != nodePending {
			continue
		}
		n := &e.nodes[i]
		if n.state = nodeSkipped; child.ForEach { // readers get a list, which lacks what is skipped
			n.state, n.list = nodeApplied, []any{}
		}
	}
}

// isLeftOut tells whether a child is skipped because its kind is missing.
func (e *Evaluation) isLeftOut(child *compiledChild) bool {
	absence, missing := e.missing[child.GVK]
	return missing && child.Optional && absence.Certain
}

// whySkipped says why a child is skipped.
func (e *Evaluation) whySkipped(i int) string {
	if child := e.prog.children[i]; e.isLeftOut(child) {
		return e.missing[child.GVK].Message
	}
	return "its when is false"
}

// checkKind is in the way of a child whose kind is missing.
func (e *Evaluation) checkKind(gvk schema.GroupVersionKind) *problem {
	if absence, missing := e.missing[gvk]; missing {
		return absence.kindMissing()
	}
	return nil
}

// lookUpMissing is what a lookup gives whose kind is missing: nothing where it is
// optional and the kind is known to be missing.
func (e *Evaluation) lookUpMissing(l *compiledLookup) (found, bool) {
	absence, missing := e.missing[l.GVK]
	switch {
	case !missing:
		return found{}, false
	case l.optional && absence.Certain:
		return found{absent: l.name != nil}, true
	default:
		return found{problem: absence.kindMissing().in(flow.RootLookups + "." + l.ID)}, true
	}
}

// waitsForCleanup names the first required child of spec.finalize that does not exist yet although the rule renders it: its kind
// is missing, or it could not be written. As long as it cannot be created, the cleanup is not done, whatever until says.
func (e *Evaluation) waitsForCleanup(out *Outcome) (NodeOutcome, bool) {
	for i, child := range e.prog.children {
		if node := out.Nodes[i]; child.Cleanup && (node.KindMissing || node.State == StateNotApplied) {
			return node, true
		}
	}
	return NodeOutcome{}, false
}
