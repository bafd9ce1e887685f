package rules

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

// Deletion says whether a rule wants its parent deleted.
type Deletion uint8

const (
	// DeletionOff means that it does not.
	DeletionOff Deletion = iota
	// DeletionUnknown means that deleteWhen waits or failed.
	DeletionUnknown
	// DeletionOn means that it does.
	DeletionOn
)

// DeletesParents says whether the rule has a deleteWhen.
func (p *Program) DeletesParents() bool { return p.deleteWhen != nil }

// compileDeleteWhen compiles spec.deleteWhen. What the cluster rests on is not
// deleted by a rule.
func (c *compiler) compileDeleteWhen(u *flow.Uses) *expression {
	n := c.rule.DeleteWhen
	if n == nil {
		return nil
	}
	if isPowerful(c.rule.Parent.GVK.GroupKind()) {
		c.report(c.rule.Source.At(n), diagnostic.CodePowerfulParent, "spec.deleteWhen cannot delete a %s: too much goes with it", c.rule.Parent.GVK.Kind).
			WithHint("say in spec.status or spec.conditions that it may go, and leave it to somebody who looks at it first")
		return nil
	}
	return c.condition(n, c.ruleScope("spec.deleteWhen"), u).compiled()
}

// isPowerful says whether more goes with an object of a kind than itself.
func isPowerful(gk schema.GroupKind) bool {
	switch gk {
	case schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Kind: "Node"}, schema.GroupKind{Kind: "PersistentVolume"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	}
	return false
}

// renderDeletion fills in whether the parent is to be deleted.
func (e *Evaluation) renderDeletion(out *Outcome) {
	if e.prog.deleteWhen == nil {
		return
	}
	holds, p := e.prog.deleteWhen.isTrue(&e.base)
	switch {
	case p != nil:
		out.note(p.under("deleteWhen"))
		out.Deletion = DeletionUnknown
	case holds:
		out.Deletion = DeletionOn
	}
}
