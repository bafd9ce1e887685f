package manifests

import (
	"cmp"
	"context"
	"errors"

	"kanon.dev/kanon/definitions/keeper"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// HeldDefinitions says which of the definitions that the schemas of rules make Kanon would not apply to a cluster as it is now.
// namespace is Kanon's own, and recomputes is as in keeper.Prepare.
func HeldDefinitions(ctx context.Context, cluster keeper.Cluster, decoded []*syntax.Rule, namespace string, recomputes func(manager string) bool) (diagnostic.Findings, error) {
	var findings diagnostic.Findings
	for _, rule := range decoded {
		if rule.Parent.Definition == nil {
			continue
		}
		_, err := keeper.Prepare(ctx, cluster, keeper.Wanted{
			Definition: rule.Parent.Definition, Adopt: rule.Parent.AdoptDefinition, Confirmed: rule.ConfirmedDefinitions(),
			Keeper: keeper.NameOf(namespace, cmp.Or(rule.Namespace, namespace), rule.Name),
		}, recomputes)
		refusal, refused := errors.AsType[*keeper.Refusal](err)
		switch {
		case err == nil:
		case refused:
			f := rule.AboutDefinition(refusal.Line(), refusal.Hint())
			if refusal.Reason == keeper.ReasonForbidden { // Kanon may have the right
				f.Severity = diagnostic.SeverityWarning
			}
			findings = append(findings, f)
		default:
			return nil, err
		}
	}
	return findings, nil
}
