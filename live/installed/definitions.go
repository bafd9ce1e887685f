package installed

import (
	"context"
	"errors"
	"fmt"

	"kanon.dev/kanon/kinds/definitions/keeper"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/rules/syntax"
)

// RefusedDefinitions returns why Kanon would not apply definitions of the rule: that of its schema, and those beside
// the rule. A confirmed change counts as refused until Kanon has applied it. namespace is Kanon's, and recomputes is
// that of keeper.Prepare. The error reports that the cluster has no text of the rule, that the text has mistakes, or
// that a request failed.
func (rule *Rule) RefusedDefinitions(
	ctx context.Context, cluster keeper.Cluster, kinds *manifests.Kinds, namespace string, recomputes func(manager string) bool,
) (refused []*keeper.Refusal, err error) {
	if rule.Decoded == nil {
		return nil, fmt.Errorf("rule %s is in the file %s, which only Kanon reads: its log has the annotation that confirms the change", rule.Name, rule.Origin.Path)
	}
	decode := syntax.Decode
	if rule.Text.Object {
		decode = syntax.DecodeObject
	}
	docs, findings := decode(rule.Text.Name, rule.Text.Data)
	more, err := manifests.Infer(ctx, &docs, kinds)
	if err != nil {
		return nil, err
	}
	if findings = append(findings, more...); findings.HasErrors() {
		return nil, fmt.Errorf("rule %s has mistakes, so that Kanon changes nothing for it: kanon get rules %s shows them", rule.Name, rule.Name)
	}
	var wanted []keeper.Wanted
	for _, decoded := range docs.Rules {
		if decoded.Name == rule.Decoded.Name && decoded.Namespace == rule.Decoded.Namespace && decoded.Parent.Definition != nil {
			wanted = append(wanted, manifests.WantedOf(decoded, namespace))
		}
	}
	for i, crd := range docs.CRDs {
		if docs.IsBeside(i) {
			wanted = append(wanted, keeper.Wanted{Definition: crd})
		}
	}
	for _, w := range wanted {
		w.Confirmed = nil
		_, err := keeper.Prepare(ctx, cluster, w, recomputes)
		if refusal, ok := errors.AsType[*keeper.Refusal](err); ok {
			refused = append(refused, refusal)
		} else if err != nil {
			return nil, err
		}
	}
	return refused, nil
}
