package manifests

import (
	"cmp"
	"context"
	"errors"

	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// RefusedDefinitions reports the definitions that Kanon would not apply to a cluster in its present state, both those
// that rules make and those in their files. namespace is Kanon's own.
func (c *Checked) RefusedDefinitions(ctx context.Context, cluster definitions.Cluster, namespace string) (diagnostic.Findings, error) {
	var findings diagnostic.Findings
	var failed error
	check := func(wanted definitions.Wanted, about func(message, hint string) diagnostic.Finding) {
		_, err := definitions.Prepare(ctx, cluster, wanted)
		refusal, refused := errors.AsType[*definitions.Withheld](err)
		if !refused {
			failed = cmp.Or(failed, err)
			return
		}
		f := about(refusal.Line(), refusal.Hint())
		if refusal.Reason == definitions.ReasonForbidden { // Kanon itself may be allowed
			f.Severity = diagnostic.SeverityWarning
		}
		findings = append(findings, f)
	}
	for _, rule := range c.Decoded {
		if rule.Parent.Definition != nil {
			check(WantedOf(rule, namespace), rule.AboutDefinition)
		}
	}
	for _, docs := range c.documents {
		for i, crd := range docs.CRDs {
			if !docs.IsBeside(i) || len(definitions.Check(ctx, crd)) > 0 { // Check has reported the latter
				continue
			}
			confirmed := syntax.ConfirmedRevisions(crd.GetAnnotations()[syntax.AnnotationConfirmDefinition])
			check(definitions.Wanted{Definition: crd, Confirmed: confirmed}, func(message, hint string) diagnostic.Finding {
				return docs.AboutDefinition(i, message, hint)
			})
		}
	}
	return findings, failed
}

// WantedOf is the definition that a rule's schema makes, in the form that keeper takes. namespace is Kanon's own.
func WantedOf(rule *syntax.Rule, namespace string) definitions.Wanted {
	return definitions.Wanted{
		Definition: rule.Parent.Definition, Adopt: rule.Parent.AdoptsDefinition(), Confirmed: rule.ConfirmedDefinitions(),
		Keeper: definitions.NameOf(namespace, cmp.Or(rule.Namespace, namespace), rule.Name),
	}
}
