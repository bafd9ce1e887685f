package livediff

import (
	"context"
	"hash/maphash"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/livepreview"
	"kanon.dev/kanon/preview"
	"kanon.dev/kanon/rules/program"
)

// Differ compares what a rule renders with a cluster.
type Differ struct {
	options   livepreview.Options
	previewer *livepreview.Previewer
	shapes    fieldset.Shapes
}

// New makes a Differ. It sends no request.
func New(o livepreview.Options) *Differ {
	return &Differ{options: o, previewer: livepreview.New(o), shapes: fieldset.Shapes{Seed: maphash.MakeSeed()}}
}

// Changes are what the rule would change for one parent.
type Changes struct {
	Parent  *unstructured.Unstructured
	Preview *preview.Preview
	// All are the changes: of children in the order of the rule, then patches, the status and deletions.
	All []Change
}

// Diff compares. The error says that the API server could not be asked.
func (d *Differ) Diff(ctx context.Context, parent *unstructured.Unstructured) (*Changes, error) {
	p, err := d.previewer.Preview(ctx, parent)
	if err != nil {
		return nil, err
	}
	out := &Changes{Parent: parent, Preview: p.Preview}
	if p.Unmatched != "" {
		if !p.Failed() {
			out.All = deletions(p)
		}
		return out, nil
	}
	for _, node := range p.Nodes {
		for _, object := range node.Objects {
			change, err := d.write(ctx, object, p.Objects[identity.Of(object.Unstructured)])
			if err != nil {
				return nil, err
			}
			out.All = append(out.All, change...)
		}
		for _, refused := range node.Refused {
			out.All = append(out.All, Change{Action: Refused, Object: refused.Object, Message: refused.Err.Error()})
		}
	}
	patches, err := d.patches(ctx, p)
	if err != nil {
		return nil, err
	}
	out.All = append(out.All, patches...)
	out.All = append(out.All, d.statusChange(parent, p.Outcome)...)
	if p.MayPrune() {
		out.All = append(out.All, deletions(p)...)
	}
	if p.Outcome.Deletion == program.DeletionOn {
		out.All = append(out.All, Change{Action: Deleted, Object: parent, before: parent, Message: "deleteWhen is true"})
	}
	return out, nil
}

// deletions are the parent's children that are not rendered.
func deletions(p *livepreview.Preview) []Change {
	var all []Change
	for _, pruned := range p.Pruned() {
		change := Change{Action: Deleted, Object: pruned.Object, before: pruned.Object}
		if pruned.Orphaned {
			change.Action, change.Message = Orphaned, "the deletionPolicy keeps it"
		}
		all = append(all, change)
	}
	return all
}
