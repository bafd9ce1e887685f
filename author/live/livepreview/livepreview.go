package livepreview

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/reconcile"
	"kanon.dev/kanon/rules/program"
)

// Options are what a Previewer needs. All fields but Now and Try are required.
type Options struct {
	Client  dynamic.Interface
	Kinds   *manifests.Kinds
	Program *program.Program
	// Namespace is Kanon's own.
	Namespace string
	Now       time.Time
	// Try shows, by a dry run, what the API server makes of a write; see memory.Trier. live is the object that was
	// read, or nil.
	Try func(ctx context.Context, a memory.Attempt, live *unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// Children reads the objects of the given kinds that the rule ruleID created for the parent. It needs no
// Program.
func (o Options) Children(ctx context.Context, ruleID string, kinds []schema.GroupVersionKind, parent *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	p := &Previewer{options: o, ruleID: ruleID}
	if _, err := p.Kinds(); err != nil {
		return nil, err
	}
	r := newReader(ctx, p, parent.GetNamespace())
	if err := r.children(kinds); err != nil {
		return nil, err
	}
	return slices.Collect(maps.Values(r.owned(parent))), nil
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
	Owned map[identity.ID]*unstructured.Unstructured
	// Lookups are the rule's lookups, in the order of the evaluation. Targets of patches are not among them.
	Lookups []reconcile.Lookup

	program *program.Program
	reader  *reader
	ruleID  string
	cluster *memory.Cluster
}

// After returns an object as it is after the reconcile; nil if it does not exist.
func (p *Preview) After(object *unstructured.Unstructured) *unstructured.Unstructured {
	return p.cluster.Newest(object)
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
	kindsOfChildren := slices.Clone(options.Former)
	for _, child := range o.Program.Children {
		kindsOfChildren = append(kindsOfChildren, child.GVK)
	}
	if err := r.children(kindsOfChildren); err != nil {
		return nil, err
	}
	out := &Preview{
		Preview: preview.Of(ctx, c, o.Program, pass), Objects: r.objects, Owned: r.owned(parent),
		program: o.Program, reader: r, ruleID: p.ruleID, cluster: c,
	}
	out.Parent = parent
	if pass.Observed != nil {
		out.Lookups = pass.Lookups
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
	// Orphaned is true if the deletionPolicy keeps it. Held is true if it stays for now, because it is not
	// known whether the rule is for the parent, or because of nodes that are not current.
	Orphaned, Held bool
}

// Children lists the parent's children by their marks, sorted. Objects with only an owner reference to the parent are
// not among them: Kanon leaves those as they are if it does not render them.
func (p *Preview) Children() []operator.Child {
	var all []operator.Child
	for _, object := range p.Owned {
		if owner, marked := mark.ReadOwner(object); marked && owner.Parent.UID == p.Parent.GetUID() {
			all = append(all, operator.Child{Object: object, Owner: owner, IsMarked: true})
		}
	}
	slices.SortFunc(all, func(a, b operator.Child) int {
		return cmp.Compare(identity.Of(a.Object).String(), identity.Of(b.Object).String())
	})
	return all
}

// Pruned lists the parent's children that the rule does not render and that are not being deleted, sorted.
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
	children, results := p.Children(), p.Results()
	exists := func(node string) bool {
		return slices.ContainsFunc(children, func(child operator.Child) bool { return child.Owner.Node == node })
	}
	for _, child := range children {
		if !rendered[identity.Of(child.Object)] && !child.IsDeleting() {
			all = append(all, Pruned{
				Object: child.Object, Node: child.Owner.Node, Orphaned: policies.KeepsPruned(child),
				Held: p.Unmatched != "" && p.Failed() || !p.program.MayPrune(child.Owner.Node, results, exists),
			})
		}
	}
	return all
}

// Target is a live object that a contribution of a patch is for.
type Target struct {
	*unstructured.Unstructured
	// Before and After are the object without and with what the patch sets. Err is why that is not known: the fields do
	// not fit the kind.
	Before, After *unstructured.Unstructured
	Err           error
}

// Differs reports whether the object has other values than the patch sets.
func (t Target) Differs() bool {
	if t.Err != nil {
		return true
	}
	before, after := t.Before.DeepCopy(), t.After.DeepCopy()
	for _, object := range []*unstructured.Unstructured{before, after} {
		object.SetManagedFields(nil)
		object.SetResourceVersion("")
		annotations := object.GetAnnotations()
		maps.DeleteFunc(annotations, func(name, _ string) bool { return strings.HasPrefix(name, "kanon.dev/") })
		object.SetAnnotations(annotations)
	}
	return !equality.Semantic.DeepEqual(before.Object, after.Object)
}

// Targets returns the live objects that a contribution of a patch is for. The error reports a failed request.
func (p *Preview) Targets(ctx context.Context, patch string, c program.Contribution) ([]Target, error) {
	if err := ctx.Err(); err != nil || c.Object == nil {
		return nil, err
	}
	objects, err := p.reader.Lookup(program.Query{GVK: c.Object.GroupVersionKind(), Target: c.Target})
	if err != nil {
		return nil, err
	}
	kinds, manager := p.reader.kinds, fieldset.PatchManager(p.ruleID, patch)+".shown" // without earlier fields, it relinquishes nothing
	part, unfit := kinds.Part(ctx, c.Object)
	targets := make([]Target, len(objects))
	for i, object := range objects {
		t := Target{Unstructured: object, Err: unfit}
		if t.Err == nil {
			t.Before, t.Err = kinds.Patched(ctx, object, manager, nil)
		}
		if t.Err == nil {
			t.After, t.Err = kinds.Patched(ctx, object, manager, part)
		}
		targets[i] = t
	}
	return targets, nil
}

// NotReady returns why an object that the rule renders is not ready; the Problem has no message if it is. known is
// false if the rule does not render the object now.
func (p *Preview) NotReady(id identity.ID) (why program.Problem, known bool) {
	for _, node := range p.Nodes {
		for _, object := range slices.Concat(node.Objects, node.Kept) {
			if identity.Of(object.Unstructured) == id {
				return object.NotReady, true
			}
		}
	}
	return program.Problem{}, false
}
