package preview

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Input is the input of a preview. Objects are only read.
type Input struct {
	Program *program.Program
	Parent  *unstructured.Unstructured
	// With are the other objects of the cluster: those that the rule looks up, existing children, and the parent's
	// Namespace if the rule selects by namespace labels. An object is a child of the parent if its mark or its
	// controller owner reference says so.
	With []*unstructured.Unstructured
	// Definitions are the CustomResourceDefinitions of the cluster. Of a kind without one, nothing is checked.
	Definitions []*unstructured.Unstructured
	Now         time.Time
	// Namespace is Kanon's own namespace. Default: that of the engine.
	Namespace string
}

// Preview is the result of a rule for a parent.
type Preview struct {
	// Rule is the rule's name.
	Rule   string
	Parent *unstructured.Unstructured
	// Unmatched says why the rule is not for the parent. If it is empty, the rule is for the parent, and the fields
	// below are set.
	Unmatched string
	// Outside is true if the labels or the namespace of the parent exclude it, so that Kanon does not evaluate the rule
	// for it.
	Outside bool
	// Nodes are in the order of spec.children.
	Nodes []Node
	// Result is the engine's.
	Result program.Result
	// Evaluation is the evaluation behind Result, for explanations; nil if the rule is not for the parent.
	Evaluation *program.Evaluation
	// StatusRefused says why the API server would refuse the rendered status; nil if it would not.
	StatusRefused error
	// Secrets are the values of all Secrets that the rule reads or renders. They are hidden wherever they occur.
	Secrets redact.Values
	// failed is true if an error left open whether the rule is for the parent.
	failed bool
}

// Node is a child of the rule with the objects that would be applied.
type Node struct {
	program.NodeResult
	Objects []Object
	// Kept are the rendered objects that are not applied: not created, or left unchanged.
	Kept []Object
	// Refused are the objects that cannot be written: the name is taken, or the API server would refuse them. Recreated
	// objects are both in Objects and here.
	Refused []Refused
}

// Object is a rendered object: one that would be applied, or that is kept as it is.
type Object struct {
	*unstructured.Unstructured
	// Written is the object as the engine writes it, apart from its marks: the keys of list items have their defaults,
	// and fields that the API server does not store are left out. It is nil if the object is kept.
	Written *unstructured.Unstructured
	// Ending decides between deletion and orphaning when the object is no longer wanted.
	Ending program.Ending
	// Recreated is true if the existing object is deleted first, or will be: once its rollout reaches it, or once its
	// dependencies are ready.
	Recreated bool
	// Why says what happens to an object that is recreated or kept, and why.
	Why string
	// Adopted says that an object that exists becomes a child, and whose fields are taken over; else empty.
	Adopted string
	// NotReady says why the existing object is not ready. An empty message means that it is ready or does not exist.
	NotReady program.Problem
}

// Refused is an object that the engine would not write.
type Refused struct {
	Object *unstructured.Unstructured
	// Err is the reason, such as a *apply.NameConflictError, a *apply.TerminatingError or a *definitions.Refusal.
	Err error
}

// Evaluate reconciles the parent once, in an API in memory. ctx bounds the time of expressions. The error reports that
// this is impossible, such as that the parent or an object of With is not valid.
func Evaluate(ctx context.Context, in Input) (*Preview, error) {
	kinds, err := memory.NewKinds(in.Definitions, in.Program, append(slices.Clone(in.With), in.Parent)...)
	if err != nil {
		return nil, err
	}
	o := memory.Options{Kinds: kinds, Program: in.Program, Parent: Active(in.Parent), Objects: in.With, Now: in.Now, Namespace: in.Namespace, Alone: true}
	c, pass, err := run(ctx, o)
	if err != nil {
		return nil, err
	}
	// An owner reference does not name the node of an object. A reconcile finds it by the rendered names, and the next one
	// then sees these children.
	for range len(in.With) {
		marked, err := c.Unmarked(ctx, pass)
		if err != nil {
			return nil, err
		}
		if len(marked) == 0 {
			break
		}
		o.Objects = slices.Clone(o.Objects)
		for i, object := range o.Objects {
			o.Objects[i] = cmp.Or(marked[identity.Of(object)], object)
		}
		if c, pass, err = run(ctx, o); err != nil {
			return nil, err
		}
	}
	p := Of(ctx, c, in.Program, pass)
	if conditions.IsSuspended(in.Parent) {
		p.Parent = p.Parent.DeepCopy()
		p.Parent.SetAnnotations(in.Parent.GetAnnotations())
	}
	return p, nil
}

// run reconciles the parent of a new cluster once. That the API server would refuse some of its objects does not
// matter.
func run(ctx context.Context, o memory.Options) (*memory.Cluster, memory.Pass, error) {
	c, err := memory.New(ctx, o)
	if c == nil {
		return nil, memory.Pass{}, err
	}
	pass, err := c.Reconcile(ctx)
	return c, pass, err
}

// Active is a parent as if it were not suspended.
func Active(parent *unstructured.Unstructured) *unstructured.Unstructured {
	if !conditions.IsSuspended(parent) {
		return parent
	}
	parent = parent.DeepCopy()
	annotations := parent.GetAnnotations()
	delete(annotations, conditions.AnnotationSuspend)
	parent.SetAnnotations(annotations)
	return parent
}

// Failed reports whether something in the rule has failed for this parent, and will fail until somebody changes
// something.
func (p *Preview) Failed() bool {
	for _, n := range p.Nodes {
		if n.State == program.StateFailed || slices.ContainsFunc(n.Refused, Refused.IsFinal) {
			return true
		}
	}
	patchFailed := slices.ContainsFunc(p.Result.Patches, func(o program.PatchResult) bool { return o.State == program.StateFailed })
	return p.failed || patchFailed || len(p.Result.StatusFailed) > 0 || p.StatusRefused != nil
}

// Rendered lists the objects that the rule renders, whether they are applied, kept or refused.
func (p *Preview) Rendered() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, node := range p.Nodes {
		all = append(all, node.rendered()...)
	}
	return all
}

func (n Node) rendered() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range slices.Concat(n.Objects, n.Kept) {
		all = append(all, object.Unstructured)
	}
	for _, refused := range n.Refused {
		all = append(all, refused.Object)
	}
	return all
}

// Results are the results of all nodes. A node of which an object would be refused is not current.
func (p *Preview) Results() []program.NodeResult {
	var all []program.NodeResult
	for _, n := range p.Nodes {
		n.BlocksPrune = n.BlocksPrune || len(n.Refused) > 0
		all = append(all, n.NodeResult)
	}
	return all
}

// IsCurrent reports whether the children of every node are known, and all rendered objects could be written.
func (p *Preview) IsCurrent() bool {
	return !slices.ContainsFunc(p.Results(), func(n program.NodeResult) bool { return !n.IsCurrent() })
}

// whenItStays says when the object is orphaned instead of deleted; empty if it never is.
func (o *Object) whenItStays() string {
	switch d := o.Ending; {
	case d.WhenPruned == syntax.EndOrphan && d.WhenDeleted == syntax.EndOrphan:
		return "when the rule no longer renders it, and when the parent is deleted"
	case d.WhenPruned == syntax.EndOrphan:
		return "when the rule no longer renders it"
	case d.WhenDeleted == syntax.EndOrphan:
		return "when the parent is deleted"
	}
	return ""
}

// unselected says why the labels, the namespace or the namespace's labels exclude a parent; empty if they do not.
func unselected(spec program.Parent, parent *unstructured.Unstructured, namespaceOf func(string) *unstructured.Unstructured) string {
	if s := spec.Selector; s != nil && !s.Matches(labels.Set(parent.GetLabels())) {
		return "spec.parent.selector does not match its labels"
	}
	namespace := parent.GetNamespace()
	if len(spec.Namespaces) > 0 && !slices.Contains(spec.Namespaces, namespace) {
		return "spec.parent.namespaces does not have " + namespace
	}
	if spec.NamespaceSelector == nil {
		return ""
	}
	switch object := namespaceOf(namespace); {
	case object == nil:
		return "spec.parent.namespaceSelector needs the Namespace " + namespace + ", which is not given"
	case !spec.NamespaceSelector.Matches(labels.Set(object.GetLabels())):
		return "spec.parent.namespaceSelector does not match the labels of Namespace " + namespace
	}
	return ""
}
