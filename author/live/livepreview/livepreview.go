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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/patching"
	"kanon.dev/kanon/engine/reconcile"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
)

// Kinds knows the kinds of a cluster. *manifests.Kinds implements it.
type Kinds interface {
	Resource(gvk schema.GroupVersionKind) (gvr schema.GroupVersionResource, ok bool)
	Lookup(gvk schema.GroupVersionKind) (rules.Kind, bool)
	Converter(ctx context.Context, gvk schema.GroupVersionKind) (managedfields.TypeConverter, error)
	Known() []schema.GroupVersionKind
	Serving() (*restmapping.Mapper, *openapi.Published, error)
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

// Previewer evaluates one rule.
type Previewer struct {
	options Options
	ruleID  string
	// kinds are those of the cluster; nil before the first evaluation.
	kinds *memory.Kinds
}

// New makes a Previewer. It sends no request.
func New(o Options) *Previewer {
	namespace := cmp.Or(o.Program.Namespace, o.Namespace)
	return &Previewer{options: o, ruleID: mark.RuleID(o.Namespace, namespace, o.Program.Name)}
}

// RuleID identifies the rule in marks and finalizers.
func (p *Previewer) RuleID() string { return p.ruleID }

// Kinds returns the kinds of the cluster.
func (p *Previewer) Kinds() (*memory.Kinds, error) {
	if p.kinds != nil {
		return p.kinds, nil
	}
	mapper, schemas, err := p.options.Kinds.Serving()
	if err == nil {
		p.kinds, err = memory.KindsOf(mapper, schemas)
	}
	return p.kinds, err
}

// Preview is what the rule renders for one parent, and the objects that it was evaluated with. Treat the objects as
// read-only.
type Preview struct {
	*preview.Preview
	// Objects are those that were read.
	Objects map[identity.ID]*unstructured.Unstructured
	// Owned are the existing objects that the rule created for the parent.
	Owned map[identity.ID]bool
	// Lookups are the rule's lookups, in the order of the evaluation. Targets of patches are not among them.
	Lookups []reconcile.Lookup

	program *program.Program
	reader  *reader
	ruleID  string
}

// Preview reconciles the parent once in memory, on top of the cluster. The error reports a failed request.
func (p *Previewer) Preview(ctx context.Context, parent *unstructured.Unstructured) (*Preview, error) {
	kinds, err := p.Kinds()
	if err != nil {
		return nil, err
	}
	stated, err := p.Record(ctx)
	if err != nil {
		return nil, err
	}
	o := p.options
	r := newReader(ctx, p, parent.GetNamespace())
	options := memory.Options{
		Kinds: kinds, Program: o.Program, Parent: preview.Active(parent), Now: o.Now, Namespace: o.Namespace, Backing: r, Alone: true,
	}
	for _, kind := range stated.Children {
		options.Former = append(options.Former, kind.GVK())
	}
	c, err := memory.New(ctx, options)
	if c == nil {
		return nil, err
	}
	pass, err := c.Reconcile(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.children(stated.Children); err != nil {
		return nil, err
	}
	out := &Preview{
		Preview: preview.Of(ctx, c, o.Program, pass), Objects: r.objects, Owned: map[identity.ID]bool{},
		program: o.Program, reader: r, ruleID: p.ruleID,
	}
	out.Parent = parent
	if pass.Observed != nil {
		out.Lookups = pass.Lookups
	}
	for id, object := range r.objects {
		if label := object.GetLabels()[mark.LabelRule]; label != p.ruleID {
			continue
		}
		if owner, ok := mark.ReadOwner(object); ok && owner.Parent.UID == parent.GetUID() || metav1.IsControlledBy(object, parent) {
			out.Owned[id] = true
		}
	}
	return out, nil
}

// Matches reports for each parent whether spec.parent.when is true; unknown counts as true. Lookups that several
// parents share are sent once. After more than maxReads reads, the rest is not evaluated: known is the number of
// parents that are. The error reports a failed request.
func (p *Previewer) Matches(ctx context.Context, parents []*unstructured.Unstructured, maxReads int) (matches []bool, known int, err error) {
	if _, err := p.Kinds(); err != nil {
		return nil, 0, err
	}
	r := newReader(ctx, p, "")
	matches = slices.Repeat([]bool{true}, len(parents))
	for i, parent := range parents {
		if len(r.asked)+len(r.queries) > maxReads {
			return matches, i, nil
		}
		ok, err := p.options.Program.Evaluate(ctx, program.Input{Parent: parent, Now: p.options.Now, Reader: r}).Matches()
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
func (p *Preview) Children() []operator.Child {
	var all []operator.Child
	for id := range p.Owned {
		object := p.Objects[id]
		if owner, marked := mark.ReadOwner(object); marked && owner.Parent.UID == p.Parent.GetUID() {
			all = append(all, operator.Child{Object: object, Owner: owner, IsMarked: true})
		}
	}
	slices.SortFunc(all, func(a, b operator.Child) int {
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
	policies := operator.Policies{ByNode: map[string]program.Ending{}}
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
	return p.reader.Lookup(program.Query{GVK: c.Object.GroupVersionKind(), Target: c.Target})
}

// Patched returns a target with the fields that a contribution of a patch sets.
func (p *Preview) Patched(ctx context.Context, target *unstructured.Unstructured, patch string, c program.Contribution) (*unstructured.Unstructured, error) {
	after := target.DeepCopy()
	rest := patching.JoinShared(after, c.Object)
	after, err := p.reader.kinds.Applied(ctx, after, fieldset.PatchManager(p.ruleID, patch), rest)
	if err == nil {
		after.SetManagedFields(target.GetManagedFields())
	}
	return after, err
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
