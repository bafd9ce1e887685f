package livediff

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/redact"
)

// This file hides values of Secrets in changes. The evaluation returns those that the rule has to do with. Objects may
// also have values of a Secret that the rule no longer reads. So in what a change removes or replaces, the values of
// all Secrets of the cluster are hidden.

// hide hides values of Secrets in changes. known are those that the rule has to do with. Without the right to list
// Secrets, it hides all of what a change removes or replaces, if that may come from a Secret.
func (d *Differ) hide(ctx context.Context, changes []Change, known redact.Values) {
	for i := range changes {
		change := &changes[i]
		known.Note(change.before) // the Secret's earlier values, too
		change.secrets = known
		if change.before != nil && change.Unified() != "" && d.mayHaveHadSecrets(ctx) {
			change.lost = d.lostValues(ctx, change.Object.GetNamespace()).Replaced
		}
	}
}

// lostValues returns the values of the Secrets of the cluster or, without the right to list all, of a namespace; nil if
// neither may be listed. It lists each once.
func (d *Differ) lostValues(ctx context.Context, namespace string) redact.Values {
	for _, in := range []string{metav1.NamespaceAll, namespace} {
		if _, listed := d.lost[in]; !listed {
			values, err := live.SecretsIn(ctx, d.options.Client, in)
			if err != nil {
				values = nil
			}
			d.lost[in] = values
		}
		if values := d.lost[in]; values != nil {
			return values
		}
	}
	return nil
}

// mayHaveHadSecrets reports whether the rule, or the one of that name in the cluster, reads or writes Secrets. If it is
// not known, the answer is true.
func (d *Differ) mayHaveHadSecrets(ctx context.Context) bool {
	if d.hadSecrets == nil {
		had := d.options.Program.HasSecrets
		if !had {
			rules, err := live.ListRules(ctx, d.options.Client, d.options.Namespace)
			had = err != nil || slices.ContainsFunc(rules.All, func(r *live.Rule) bool { return r.ID == d.previewer.RuleID() && r.MayHaveSecrets() })
		}
		d.hadSecrets = &had
	}
	return *d.hadSecrets
}
