package livediff

import (
	"context"
	"hash/maphash"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/program"
)

// Differ compares what a rule renders with a cluster.
type Differ struct {
	options   livepreview.Options
	previewer *livepreview.Previewer
	shapes    fieldset.Shapes
	// contributors are the parents evaluated so far. evaluatedAll is true if these are all.
	contributors map[types.NamespacedName]contributor
	evaluatedAll bool
	// before reports whether the rule in the cluster may select a parent; nil until it is needed. unclear is a set of
	// notes on what could not be determined.
	before  func(*unstructured.Unstructured) bool
	unclear map[string]bool
	// secrets are the values of the Secrets that the rule has to do with for these parents. lost hides values that
	// objects may have from earlier Secrets.
	secrets redact.Values
	lost    *lost
}

// New makes a Differ. It sends no request.
func New(o livepreview.Options) *Differ {
	return &Differ{
		options: o, previewer: livepreview.New(o), shapes: fieldset.Shapes{Seed: maphash.MakeSeed()},
		contributors: map[types.NamespacedName]contributor{}, unclear: map[string]bool{}, secrets: redact.Values{},
	}
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
	// Problems are the parts of the rule that wait or fail for the parent.
	Problems []Problem

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
	p, err := d.previewer.Preview(ctx, parent)
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
	out.Preview, out.Problems = p.Preview, problemsOf(p.Preview)
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
		for _, object := range node.Objects {
			change, err := d.write(ctx, p, object)
			if err != nil {
				return err
			}
			if change != nil {
				out.All = append(out.All, *change)
			}
		}
		for _, refused := range node.Refused {
			out.All = append(out.All, Change{Action: Refused, Object: refused.Object, Message: d.reason(refused.Err), passes: !refused.IsFinal()})
		}
		for _, kept := range node.Kept {
			if kept.Recreated {
				out.losses = append(out.losses, identity.Of(kept.Object))
			}
		}
	}
	patches, err := d.patches(ctx, p)
	if err != nil {
		return err
	}
	status, err := d.statusChange(ctx, p, out.Parent.GetResourceVersion() != "")
	out.All = append(append(out.All, patches...), status...)
	return err
}

// ended adds what happens to children that the rule does not render.
func (d *Differ) ended(p *livepreview.Preview, out *Changes) {
	may, refused := p.MayPrune(), false
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
		case !out.unsure:
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
