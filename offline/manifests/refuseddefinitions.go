package manifests

import (
	"cmp"
	"context"
	"errors"

	"kanon.dev/kanon/kinds/definitions"
	"kanon.dev/kanon/kinds/definitions/keeper"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// RefusedDefinitions reports the definitions that Kanon would not apply to a cluster in its present state, both those
// that rules make and those in their files. namespace is Kanon's own; recomputes is as for keeper.Prepare.
func (c *Checked) RefusedDefinitions(ctx context.Context, cluster keeper.Cluster, namespace string, recomputes func(manager string) bool) (diagnostic.Findings, error) {
	d := definitionCheck{cluster: cluster, recomputes: recomputes}
	for _, rule := range c.Decoded {
		if rule.Parent.Definition != nil {
			d.check(ctx, WantedOf(rule, namespace), rule.AboutDefinition)
		}
	}
	for _, docs := range c.documents {
		for i, crd := range docs.CRDs {
			if !docs.IsBeside(i) || len(definitions.Check(ctx, crd)) > 0 { // Check has reported the latter
				continue
			}
			confirmed := syntax.ConfirmedRevisions(crd.GetAnnotations()[syntax.AnnotationConfirmDefinition])
			d.check(ctx, keeper.Wanted{Definition: crd, Confirmed: confirmed}, func(message, hint string) diagnostic.Finding {
				return docs.AboutDefinition(i, message, hint)
			})
		}
	}
	return d.findings, d.err
}

// WantedOf is the definition that a rule's schema makes, in the form that keeper takes. namespace is Kanon's own.
func WantedOf(rule *syntax.Rule, namespace string) keeper.Wanted {
	return keeper.Wanted{
		Definition: rule.Parent.Definition, Adopt: rule.Parent.AdoptDefinition, Confirmed: rule.ConfirmedDefinitions(),
		Keeper: keeper.NameOf(namespace, cmp.Or(rule.Namespace, namespace), rule.Name),
	}
}

// definitionCheck collects the findings of RefusedDefinitions.
type definitionCheck struct {
	cluster    keeper.Cluster
	recomputes func(manager string) bool
	findings   diagnostic.Findings
	err        error
}

// check reports a definition that would not be applied. about makes the finding. After an error, check does nothing.
func (d *definitionCheck) check(ctx context.Context, wanted keeper.Wanted, about func(message, hint string) diagnostic.Finding) {
	if d.err != nil {
		return
	}
	_, err := keeper.Prepare(ctx, d.cluster, wanted, d.recomputes)
	refusal, refused := errors.AsType[*keeper.Refusal](err)
	switch {
	case err == nil:
	case refused:
		f := about(refusal.Line(), refusal.Hint())
		if refusal.Reason == keeper.ReasonForbidden { // Kanon itself may be allowed
			f.Severity = diagnostic.SeverityWarning
		}
		d.findings = append(d.findings, f)
	default:
		d.err = err
	}
}
