package livediff

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/redact"
	"kanon.dev/kanon/redact/clustersecrets"
)

// Values of Secrets in what a rule would change. Those that the rule has to do with are known from its evaluation. What objects have from
// before may come from a Secret that the rule no longer reads, so in what is removed or replaced all values of the cluster are hidden.

// lost are the values of Secrets that objects may have from before: of the cluster or, without the right to list these, by namespace.
type lost struct {
	// isNone is true if nothing that the rule has written can be of a Secret.
	isNone bool
	all    redact.Values
	// near are by namespace, and nil if nobody knows.
	near map[string]redact.Values
}

// hide has changes shown without values of Secrets. known are those that the rule has to do with.
func (d *Differ) hide(ctx context.Context, changes []Change, known redact.Values) {
	for i := range changes {
		change := &changes[i]
		known.Note(change.before) // as it is before a change, too
		change.secrets = known
		if change.before != nil && change.Unified() != "" {
			d.hideLost(ctx, change)
		}
	}
}

// hideLost hides what a change removes or replaces as far as it may be of a Secret. Where Secrets may not be listed that is all of it.
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
		values, err := clustersecrets.In(ctx, d.options.Client, namespace)
		if err != nil {
			values = nil
		}
		l.near[namespace] = values
	}
	change.lost = l.near[namespace].Replaced
}

// lostValues reads the Secrets of the cluster once.
func (d *Differ) lostValues(ctx context.Context) *lost {
	if d.lost != nil {
		return d.lost
	}
	d.lost = &lost{isNone: !d.mayHaveHadSecrets(ctx), near: map[string]redact.Values{}}
	if d.lost.isNone {
		return d.lost
	}
	if all, err := clustersecrets.In(ctx, d.options.Client, metav1.NamespaceAll); err == nil {
		d.lost.all = all
	}
	return d.lost
}

// mayHaveHadSecrets reports whether the rule has to do with Secrets, or the one that runs by its name, or may have.
func (d *Differ) mayHaveHadSecrets(ctx context.Context) bool {
	if d.options.Program.HasSecrets {
		return true
	}
	rules, err := installed.List(ctx, d.options.Client, d.options.Namespace)
	if err != nil {
		return true // who knows
	}
	return slices.ContainsFunc(rules.All, func(rule *installed.Rule) bool { return rule.ID == d.previewer.RuleID() && rule.MayHaveSecrets() })
}
