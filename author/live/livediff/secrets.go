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

// lost are the values of Secrets that objects may have from earlier: of the cluster or, without the right to list all,
// by namespace.
type lost struct {
	// isNone is true if nothing that the rule has written can come from a Secret.
	isNone bool
	all    redact.Values
	// near is by namespace; nil if the Secrets of the namespace may not be listed.
	near map[string]redact.Values
}

// hide hides values of Secrets in changes. known are those that the rule has to do with.
func (d *Differ) hide(ctx context.Context, changes []Change, known redact.Values) {
	for i := range changes {
		change := &changes[i]
		known.Note(change.before) // the Secret's earlier values, too
		change.secrets = known
		if change.before != nil && change.Unified() != "" {
			d.hideLost(ctx, change)
		}
	}
}

// hideLost hides the parts of what a change removes or replaces that may come from a Secret. Without the right to list
// Secrets, it hides all of it.
func (d *Differ) hideLost(ctx context.Context, change *Change) {
	l := d.lostValues(ctx)
	switch {
	case l.isNone:
		return
	case l.all != nil:
		change.lost = l.all.Replaced
		return
	}
	namespace := change.Object.GetNamespace()
	if _, read := l.near[namespace]; !read && namespace != "" {
		values, err := live.SecretsIn(ctx, d.options.Client, namespace)
		if err != nil {
			values = nil
		}
		l.near[namespace] = values
	}
	change.lost = l.near[namespace].Replaced
}

// lostValues lists the Secrets of the cluster, once.
func (d *Differ) lostValues(ctx context.Context) *lost {
	if d.lost != nil {
		return d.lost
	}
	d.lost = &lost{isNone: !d.mayHaveHadSecrets(ctx), near: map[string]redact.Values{}}
	if d.lost.isNone {
		return d.lost
	}
	if all, err := live.SecretsIn(ctx, d.options.Client, metav1.NamespaceAll); err == nil {
		d.lost.all = all
	}
	return d.lost
}

// mayHaveHadSecrets reports whether the rule, or the one of that name in the cluster, reads or writes Secrets. If it is
// not known, the answer is true.
func (d *Differ) mayHaveHadSecrets(ctx context.Context) bool {
	if d.options.Program.HasSecrets {
		return true
	}
	rules, err := live.ListRules(ctx, d.options.Client, d.options.Namespace)
	if err != nil {
		return true // unknown
	}
	return slices.ContainsFunc(rules.All, func(rule *live.Rule) bool { return rule.ID == d.previewer.RuleID() && rule.MayHaveSecrets() })
}
