package livepreview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/offline/overlay"
	"kanon.dev/kanon/offline/preview"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
)

// Kinds knows the kinds of a cluster. *manifests.Kinds implements it.
type Kinds interface {
	Resource(gvk schema.GroupVersionKind) (gvr schema.GroupVersionResource, ok bool)
	Lookup(gvk schema.GroupVersionKind) (rules.Kind, bool)
	Schema(gvk schema.GroupVersionKind) *openapi.Schema
	Converter(ctx context.Context, gvk schema.GroupVersionKind) (managedfields.TypeConverter, error)
	Known() []schema.GroupVersionKind
	HasStatus(gvk schema.GroupVersionKind) bool
}

// Options are what a Previewer needs. All fields but Now are required.
type Options struct {
	Client  dynamic.Interface
	Kinds   Kinds
	Program *program.Program
	// Namespace is Kanon's own.
	Namespace string
	Now       time.Time
}

// Resource returns the client for a kind in a namespace; false if the cluster does not have the kind. An empty
// namespace means all namespaces.
func (o Options) Resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, bool) {
	gvr, ok := o.Kinds.Resource(gvk)
	if !ok {
		return nil, false
	}
	if kind, _ := o.Kinds.Lookup(gvk); !kind.Namespaced || namespace == "" {
		return o.Client.Resource(gvr), true
	}
	return o.Client.Resource(gvr).Namespace(namespace), true
}

// Children reads the objects of the given kinds that have the label of the rule ruleID, and returns those of the
// parent. Without the right to list a kind in all namespaces, it reads only the parent's namespace. It needs no
// Program.
func (o Options) Children(ctx context.Context, ruleID string, kinds []schema.GroupVersionKind, parent *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var children []*unstructured.Unstructured
	asked := map[schema.GroupKind]bool{} // kinds may repeat a kind in several versions
	for _, gvk := range kinds {
		client, ok := o.Resource(gvk, "")
		if !ok || asked[gvk.GroupKind()] {
			continue // the kind does not exist, or is read already
		}
		asked[gvk.GroupKind()] = true
		labelled := metav1.ListOptions{LabelSelector: mark.LabelRule + "=" + ruleID}
		list, err := client.List(ctx, labelled)
		if near, ok := o.Resource(gvk, parent.GetNamespace()); ok && apierrors.IsForbidden(err) && parent.GetNamespace() != "" {
			list, err = near.List(ctx, labelled) // most children are there, and the user may have no rights elsewhere
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			if owner, ok := mark.ReadOwner(object); ok && owner.Parent.UID == parent.GetUID() || metav1.IsControlledBy(object, parent) {
				children = append(children, object)
			}
		}
	}
	return children, nil
}

// missing returns the kinds of the program that the cluster does not have. Nodes of such a kind wait for it.
func (o Options) missing() map[schema.GroupVersionKind]program.Absence {
	var all []schema.GroupVersionKind
	for _, child := range o.Program.Children {
		all = append(all, child.GVK)
	}
	for _, lookup := range o.Program.Lookups {
		all = append(all, lookup.GVK)
	}
	for _, patch := range o.Program.Patches {
		all = append(all, patch.GVK)
	}
	missing := map[schema.GroupVersionKind]program.Absence{}
	for _, gvk := range all {
		if _, ok := o.Kinds.Resource(gvk); !ok {
			otherVersion := slices.ContainsFunc(o.Kinds.Known(), func(known schema.GroupVersionKind) bool { return known.GroupKind() == gvk.GroupKind() })
			missing[gvk] = program.Absence{Certain: !otherVersion, Message: fmt.Sprintf("the cluster has no kind %s in %s", gvk.Kind, gvk.GroupVersion())}
		}
	}
	return missing
}

// Previewer evaluates one rule.
type Previewer struct {
	options Options
	ruleID  string
}

// New makes a Previewer. It sends no request.
func New(o Options) *Previewer {
	namespace := cmp.Or(o.Program.Namespace, o.Namespace)
	return &Previewer{options: o, ruleID: mark.RuleID(o.Namespace, namespace, o.Program.Name)}
}

// RuleID identifies the rule in marks and finalizers.
func (p *Previewer) RuleID() string { return p.ruleID }

// Preview is what the rule renders for one parent, and the objects that it was evaluated with. Treat the objects as
// read-only.
type Preview struct {
	*preview.Preview
	// Objects are those that were read by name, and the parent's children.
	Objects map[identity.ID]*unstructured.Unstructured
	// Owned are the existing objects that the rule created for the parent.
	Owned map[identity.ID]bool
	// Lookups are the rule's lookups, in the order of the evaluation. Targets of patches are not among them.
	Lookups []Lookup

	program *program.Program
	reader  *reader
}

// Lookup is one query of the rule, and its result.
type Lookup struct {
	Query program.Query
	// Found is empty if nothing exists, or if the query failed with Err.
	Found []*unstructured.Unstructured
	Err   error
}

// Preview evaluates the rule for a parent. The error reports a failed request.
func (p *Previewer) Preview(ctx context.Context, parent *unstructured.Unstructured) (*Preview, error) {
	r := newReader(ctx, p)
	if err := r.children(parent); err != nil {
		return nil, err
	}
	if p.options.Program.Parent.NamespaceSelector != nil {
		r.read(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", parent.GetNamespace())
	}
	missing := p.options.missing()
	for {
		in := r.input(parent, missing)
		for _, object := range r.objects {
			in.With = append(in.With, object)
		}
		r.lookups = nil
		evaluated := preview.Evaluate(ctx, in)
		// An object with the name of a rendered one may be somebody else's. So these are read too, until no new name
		// appears.
		before := len(r.asked)
		for _, object := range evaluated.Rendered() {
			r.read(object.GroupVersionKind(), object.GetNamespace(), object.GetName())
		}
		if r.err != nil {
			return nil, r.err
		}
		if len(r.asked) == before {
			return &Preview{
				Preview: evaluated, Objects: r.objects, Owned: r.owned, Lookups: r.distinctLookups(), program: p.options.Program, reader: r,
			}, nil
		}
	}
}

// Matches reports for each parent whether spec.parent.when is true; unknown counts as true. Lookups that several
// parents share are sent once. After more than maxReads reads, the rest is not evaluated: known is the number of
// parents that are. The error reports a failed request.
func (p *Previewer) Matches(ctx context.Context, parents []*unstructured.Unstructured, maxReads int) (matches []bool, known int, err error) {
	r, missing := newReader(ctx, p), p.options.missing()
	matches = slices.Repeat([]bool{true}, len(parents))
	for i, parent := range parents {
		if len(r.asked)+len(r.queries) > maxReads {
			return matches, i, nil
		}
		ok, err := preview.Matches(ctx, r.input(parent, missing))
		if r.err != nil {
			return nil, 0, r.err
		}
		matches[i] = ok || err != nil
	}
	return matches, len(parents), nil
}

// Pruned is a child of the parent that the rule does not render.
type Pruned struct {
	Object *unstructured.Unstructured
	// Node is the id of the child in the rule.
	Node string
	// Orphaned is true if the deletionPolicy keeps it.
	Orphaned bool
}

// Children lists the parent's children by their marks, sorted. Objects with only an owner reference to the parent are
// not among them: Kanon leaves those as they are if it does not render them.
func (p *Preview) Children() []ending.Child {
	var all []ending.Child
	for id := range p.Owned {
		object := p.Objects[id]
		if owner, marked := mark.ReadOwner(object); marked && owner.Parent.UID == p.Parent.GetUID() {
			all = append(all, ending.Child{Object: object, Owner: owner, IsMarked: true})
		}
	}
	slices.SortFunc(all, func(a, b ending.Child) int {
		return cmp.Compare(identity.Of(a.Object).String(), identity.Of(b.Object).String())
	})
	return all
}

// Pruned lists the parent's children that the rule does not render and that are not being deleted, sorted. They are
// deleted or orphaned once Preview.MayPrune is true.
func (p *Preview) Pruned() []Pruned {
	rendered := map[identity.ID]bool{}
	for _, object := range p.Rendered() {
		rendered[identity.Of(object)] = true
	}
	policies := ending.Policies{ByNode: map[string]program.Ending{}}
	for _, child := range p.program.Children {
		policies.ByNode[child.ID] = child.Ending
	}
	var all []Pruned
	for _, child := range p.Children() {
		if !rendered[identity.Of(child.Object)] && !child.IsDeleting() {
			all = append(all, Pruned{Object: child.Object, Node: child.Owner.Node, Orphaned: policies.KeepsPruned(child)})
		}
	}
	return all
}

// Targets returns the live objects that a contribution of a patch is for. The error reports a failed request.
func (p *Preview) Targets(ctx context.Context, c program.Contribution) ([]*unstructured.Unstructured, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q := program.Query{GVK: c.Object.GroupVersionKind(), Target: c.Target}
	if q.Selector == nil {
		q.Selector = labels.Everything()
	}
	return p.reader.find(q)
}

// Patched returns a target with the fields that a contribution sets.
func (p *Preview) Patched(target *unstructured.Unstructured, c program.Contribution) *unstructured.Unstructured {
	after := target.DeepCopy()
	overlay.Apply(p.reader.options.Kinds.Schema(target.GroupVersionKind()), after.Object, nil, patchset.JoinShared(after, c.Object))
	return after
}

// NotReady returns why an object that the rule renders is not ready; the Problem has no message if it is. known is
// false if the rule does not render the object now.
func (p *Preview) NotReady(id identity.ID) (why program.Problem, known bool) {
	for _, node := range p.Nodes {
		for _, object := range node.Objects {
			if identity.Of(object.Unstructured) == id {
				return object.NotReady, true
			}
		}
		for _, kept := range node.Kept {
			if identity.Of(kept.Object) == id {
				return kept.NotReady, true
			}
		}
	}
	return program.Problem{}, false
}
