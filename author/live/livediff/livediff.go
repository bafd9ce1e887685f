package livediff

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Differ compares what a rule renders with a cluster.
type Differ struct {
	options   livepreview.Options
	previewer *livepreview.Previewer
	// parent is the one that is compared. failure is the error of one of its dry runs that does not refuse an object.
	parent  *unstructured.Unstructured
	writes  bool
	failure error
	// namespaces are those that the rule would create for the parents compared so far.
	namespaces map[string]bool
	// contributors are the parents evaluated so far. evaluatedAll is true if these are all.
	contributors map[types.NamespacedName]contributor
	evaluatedAll bool
	// before reports whether the rule in the cluster may select a parent; nil until it is needed. unclear is a set of
	// notes on what could not be determined.
	before  func(*unstructured.Unstructured) bool
	unclear map[string]bool
	// secrets are the values of the Secrets that the rule has to do with for these parents. lost are those that objects
	// may have from earlier, by namespace, if hadSecrets, which is nil until it is needed.
	secrets    redact.Values
	lost       map[string]redact.Values
	hadSecrets *bool
}

// New makes a Differ. It sends no request.
func New(o livepreview.Options) *Differ {
	d := &Differ{
		contributors: map[types.NamespacedName]contributor{}, unclear: map[string]bool{},
		secrets: redact.Values{}, lost: map[string]redact.Values{}, namespaces: map[string]bool{},
	}
	o.Try = d.try
	d.options, d.previewer = o, livepreview.New(o)
	return d
}

// Changes are what the rule would change for one parent.
type Changes struct {
	Parent *unstructured.Unstructured
	// Idle is why Kanon currently changes nothing for the parent, such as "is suspended"; empty if it does.
	Idle Idle
	// Preview is what the rule renders; nil if Idle is not empty.
	Preview *preview.Preview
	// All are the changes: of children in the order of the rule, then of patches, then the status and deletions.
	All []Change
	// problems are the parts of the rule that wait or fail for the parent.
	problems []problem

	// unselected is true if the rule does not select the parent.
	unselected bool
	// losses are what the prune guard counts. unsure is true if there may be others.
	losses []identity.ID
	unsure bool
}

// Idle is why Kanon changes nothing for a parent, as text that follows the parent's name.
type Idle string

// The reasons.
const (
	// Suspended: an annotation of the parent suspends it.
	Suspended Idle = "is suspended"
	// Terminating: the parent is being deleted. The garbage collector deletes its children, or their deletionPolicy
	// applies.
	Terminating Idle = "is being deleted"
)

// Diff compares one parent. The error reports a failed request, or one that the user has no right to.
func (d *Differ) Diff(ctx context.Context, parent *unstructured.Unstructured) (*Changes, error) {
	out := &Changes{Parent: parent, Idle: d.idle(parent)}
	p, err := d.preview(ctx, parent, out.Idle == "")
	if err != nil {
		return nil, err
	}
	out.unselected = p.Unmatched != "" && !p.Failed()
	d.note(ctx, parent, out.Idle, p.Preview)
	switch out.Idle {
	case Terminating:
		return out, nil
	case Suspended:
		out.loseAtMost(d.options.Program, parent, p)
		return out, nil
	}
	out.Preview, out.problems = p.Preview, problemsOf(p.Preview)
	if p.Unmatched == "" {
		if err := d.rendered(ctx, p, out); err != nil {
			return nil, err
		}
	}
	d.ended(p, out)
	d.parentEnded(p, out)
	d.hide(ctx, out.All, p.Secrets)
	return out, nil
}

// preview evaluates the rule for a parent, once more if somebody else changes an object meanwhile, or if the rule would
// create a Namespace: what goes into it may have come before. writes is true if dry runs are sent.
func (d *Differ) preview(ctx context.Context, parent *unstructured.Unstructured, writes bool) (p *livepreview.Preview, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		d.failure = nil
		for known := -1; known < len(d.namespaces) && err == nil && d.failure == nil; {
			known = len(d.namespaces)
			d.parent, d.writes = parent, writes
			p, err = d.previewer.Preview(ctx, parent)
		}
		return cmp.Or(d.failure, err)
	})
	return p, err
}

// idle returns why Kanon changes nothing for a parent.
func (d *Differ) idle(parent *unstructured.Unstructured) Idle {
	rule := d.previewer.RuleID()
	finalizes := d.options.Program.Finalize != nil && slices.Contains(parent.GetFinalizers(), mark.Finalizer(rule)) && !conditions.IsFinalized(parent, rule)
	switch {
	case conditions.IsSuspended(parent):
		return Suspended
	case parent.GetDeletionTimestamp() != nil && !finalizes:
		return Terminating
	}
	return ""
}

// rendered adds the changes to what the rule renders: children, patches and the status.
func (d *Differ) rendered(ctx context.Context, p *livepreview.Preview, out *Changes) error {
	for _, node := range p.Nodes {
		refused := map[identity.ID]bool{}
		for _, r := range node.Refused {
			refused[identity.Of(r.Object)] = true
		}
		for _, object := range node.Objects {
			id := identity.Of(object.Unstructured)
			change := Change{Action: Updated, Object: object.Unstructured, before: p.Objects[id], after: p.After(object.Unstructured)}
			switch {
			case refused[id]:
				continue
			case change.before == nil:
				change.Action = Created
			case object.Recreated:
				change.Action, change.Message = Recreated, object.Why
			case object.Adopted != "":
				change.Message = object.Adopted
			case change.isEmpty():
				continue
			}
			out.All = append(out.All, change)
		}
		for _, r := range node.Refused {
			change := Change{Action: Refused, Object: r.Object, Message: d.reason(r.Err), passes: !r.IsFinal()}
			policy := d.options.Program.Children[d.options.Program.ByID[node.ID]].UpdatePolicy
			change.recreates = p.Owned[identity.Of(r.Object)] != nil && (policy == syntax.UpdateRecreate || policy == syntax.UpdateApplyOrRecreate)
			out.All = append(out.All, change)
		}
		for _, kept := range node.Kept {
			if kept.Recreated {
				out.losses = append(out.losses, identity.Of(kept.Unstructured))
			}
		}
	}
	patches, err := d.patches(ctx, p)
	out.All = append(append(out.All, patches...), d.statusChange(p)...)
	return err
}

// ended adds what happens to children that the rule does not render.
func (d *Differ) ended(p *livepreview.Preview, out *Changes) {
	may, refused := p.IsCurrent(), false
	if p.Unmatched != "" {
		may = !p.Failed()
	}
	for _, change := range out.All {
		refused = refused || change.Action == Refused
		if change.Action == Recreated || change.Action == Refused && change.recreates {
			out.losses = append(out.losses, identity.Of(change.Object))
		}
	}
	out.unsure = !may || refused
	unclear := map[string]bool{} // nodes that wait or failed
	for _, node := range p.Nodes {
		unclear[node.ID] = node.State == program.StateWaiting || node.State == program.StateFailed
	}
	for _, pruned := range p.Pruned() {
		change := Change{Action: Deleted, Object: pruned.Object, before: pruned.Object}
		if pruned.Orphaned {
			change.Action, change.Message = Orphaned, "the deletionPolicy keeps it"
		} else {
			out.losses = append(out.losses, identity.Of(pruned.Object))
		}
		switch {
		case !out.unsure || !pruned.Held:
			out.All = append(out.All, change)
		case refused && !pruned.Orphaned && !unclear[pruned.Node]:
			out.All = append(out.All, Change{Action: Kept, Object: pruned.Object, Message: "it is not deleted as long as something else is refused"})
		}
	}
}

// parentEnded adds the effect of deleteWhen on the parent.
func (d *Differ) parentEnded(p *livepreview.Preview, out *Changes) {
	if d.options.Program.DeleteWhen == nil || p.Unmatched != "" && !out.unsure || p.Parent.GetDeletionTimestamp() != nil {
		return
	}
	switch p.Result.Deletion {
	case program.DeletionOn:
		out.All = append(out.All, Change{Action: Deleted, Object: out.Parent, before: out.Parent, Message: "deleteWhen is true"})
	case program.DeletionUnknown:
		out.unsure = true
	case program.DeletionOff:
		if !out.unsure {
			return
		}
	}
	out.losses = append(out.losses, identity.Of(out.Parent))
}

// loseAtMost adds everything that a parent which is not evaluated may lose.
func (c *Changes) loseAtMost(rule *program.Program, parent *unstructured.Unstructured, p *livepreview.Preview) {
	c.unsure = true
	for _, child := range p.Children() {
		c.losses = append(c.losses, identity.Of(child.Object))
	}
	if rule.DeleteWhen != nil {
		c.losses = append(c.losses, identity.Of(parent))
	}
}
