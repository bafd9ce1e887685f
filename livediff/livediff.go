package livediff

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/preview"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Kinds tells which kinds the cluster has. *manifests.Kinds implements it.
type Kinds interface {
	Resource(gvk schema.GroupVersionKind) (gvr schema.GroupVersionResource, ok bool)
	Lookup(gvk schema.GroupVersionKind) (rules.Kind, bool)
}

// Options are what a Differ works with. All fields but Now are needed.
type Options struct {
	Client  dynamic.Interface
	Kinds   Kinds
	Program *program.Program
	// Namespace is Kanon's own.
	Namespace string
	Now       time.Time
}

// Differ compares what a rule renders with a cluster.
type Differ struct {
	options Options
	ruleID  string
}

// New makes a Differ. It sends no request.
func New(o Options) *Differ {
	namespace := cmp.Or(o.Program.Namespace, o.Namespace)
	return &Differ{options: o, ruleID: mark.RuleID(o.Namespace, namespace, o.Program.Name)}
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
	p, g, err := d.evaluate(ctx, parent)
	if err != nil {
		return nil, err
	}
	out := &Changes{Parent: parent, Preview: p}
	if p.Unmatched != "" {
		if !p.Failed() {
			out.All = g.deletions(nil)
		}
		return out, nil
	}
	rendered := map[identity.ID]bool{}
	for _, object := range renderedBy(p) {
		rendered[identity.Of(object)] = true
	}
	for _, node := range p.Nodes {
		for _, object := range node.Objects {
			change, err := d.write(ctx, object, g.objects[identity.Of(object.Unstructured)])
			if err != nil {
				return nil, err
			}
			out.All = append(out.All, change...)
		}
		for _, refused := range node.Refused {
			out.All = append(out.All, Change{Action: Refused, Object: refused.Object, Message: refused.Err.Error()})
		}
	}
	patches, err := d.patches(ctx, p.Outcome.Patches, g)
	if err != nil {
		return nil, err
	}
	out.All = append(out.All, patches...)
	out.All = append(out.All, statusChange(parent, p.Outcome)...)
	if p.MayPrune() {
		out.All = append(out.All, g.deletions(rendered)...)
	}
	if p.Outcome.Deletion == program.DeletionOn {
		out.All = append(out.All, Change{Action: Deleted, Object: parent, before: parent, Message: "deleteWhen is true"})
	}
	return out, nil
}

// deletions are the parent's children that are not rendered.
func (g *gathered) deletions(rendered map[identity.ID]bool) []Change {
	var all []Change
	for id := range g.owned {
		object := g.objects[id]
		if rendered[id] || object.GetDeletionTimestamp() != nil {
			continue
		}
		owner, _ := mark.ReadOwner(object)
		change := Change{Action: Deleted, Object: object, before: object}
		for _, child := range g.d.options.Program.Children {
			if child.ID == owner.Node && child.Ending.WhenPruned == syntax.EndOrphan {
				change.Action, change.Message = Orphaned, "the deletionPolicy keeps it"
			}
		}
		all = append(all, change)
	}
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Compare(identity.Of(a.Object).String(), identity.Of(b.Object).String())
	})
	return all
}
