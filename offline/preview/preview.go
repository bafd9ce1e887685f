package preview

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/redact"
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
	// Children are the objects that the rule is known to have created for the parent. They are not in With.
	Children []Child
	// Stepwise makes a recreation take two evaluations, as in a cluster: this one deletes the object, a later one
	// creates it, and nodes that read it wait. false: the evaluation shows the new object.
	Stepwise bool
	// Replaced are objects that were deleted to be recreated. The new objects take over their generated values.
	Replaced []*unstructured.Unstructured
	// Lookup answers lookups. nil: they are answered from With and Children.
	Lookup func(program.Query) ([]*unstructured.Unstructured, error)
	// Missing are kinds that the cluster does not have. nil: it has all.
	Missing map[schema.GroupVersionKind]program.Absence
	Now     time.Time
	// Schema is the schema of a kind, by which lists are merged, or nil. nil: no kind has one.
	Schema func(schema.GroupVersionKind) *openapi.Schema
	// HasStatus reports whether a kind has a status subresource, so that the status is not written with the object.
	// nil: no kind has.
	HasStatus func(schema.GroupVersionKind) bool
	// Check returns an error if the API server would refuse an object. old is the existing object, or nil. nil: it
	// accepts all.
	Check func(object, old *unstructured.Unstructured) error
	// CheckStatus is Check for a write of the parent's status.
	CheckStatus func(object, old *unstructured.Unstructured) error
	// Status is the parent's status as the rule rendered it last. Fields that are no longer rendered are removed.
	Status map[string]any
	// Namespace is Kanon's own namespace. Empty: the marks of children do not distinguish this rule from others.
	Namespace string
}

// Child is an object that the rule created for the parent.
type Child struct {
	// Node is the id of the child in the rule.
	Node   string
	Object *unstructured.Unstructured
	// Rendered is the object as the rule rendered it last. The next write removes fields that are no longer rendered.
	Rendered *unstructured.Unstructured
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
	// Batch is the number of the node's batch, from 1. The nodes of a batch are written side by side.
	Batch   int
	Objects []Object
	// Kept are the rendered objects that are not applied: not created, or left unchanged.
	Kept []Kept
	// Refused are the objects that cannot be written: the name is taken, or the API server would refuse them. Under
	// Input.Stepwise, recreated objects are both in Objects and here.
	Refused []Refused
}

// Object is an object that would be applied.
type Object struct {
	*unstructured.Unstructured
	// Written is the object as the engine writes it, apart from its marks: the keys of list items have their defaults,
	// and fields that the API server does not store are left out.
	Written *unstructured.Unstructured
	// Live is the object as it is after the write.
	Live *unstructured.Unstructured
	// Ignore are the paths of the fields that are left to others.
	Ignore []fieldset.Path
	// Ending decides between deletion and orphaning when the object is no longer wanted.
	Ending program.Ending
	// Recreation decides whether the existing object is deleted first. WhyRecreated explains it, for a comment.
	Recreation   Recreation
	WhyRecreated string
	// KeepsGenerated is true if the recreated object takes over the generated values.
	KeepsGenerated bool
	// NotReady says why Live is not ready. An empty message means that it is ready.
	NotReady program.Problem
}

// Recreation decides whether an object is deleted and created again.
type Recreation uint8

const (
	// RecreateNever changes the object in place, if it changes at all.
	RecreateNever Recreation = iota
	// RecreateIfRefused recreates the object if the API server refuses the change.
	RecreateIfRefused
	// RecreateNow deletes the object and creates it again.
	RecreateNow
)

// Refused is an object that the engine would not write.
type Refused struct {
	Object *unstructured.Unstructured
	// Err is the reason: a *refusal.NameConflictError, a *refusal.TerminatingError, or the error of Input.Check.
	Err error
}

// Kept is a rendered object that is not applied.
type Kept struct {
	Object *unstructured.Unstructured
	// Why says what happens to the object instead, and why.
	Why string
	// Ending decides between deletion and orphaning when the object is no longer wanted.
	Ending program.Ending
	// Recreated is true if the object will be recreated later: once its rollout reaches it, or once its dependencies
	// are ready.
	Recreated bool
	// NotReady says why the existing object is not ready. An empty message means that it is ready or does not exist.
	NotReady program.Problem
}

// Evaluate evaluates the rule once. ctx bounds the time of expressions.
func Evaluate(ctx context.Context, in Input) *Preview {
	w := newWorld(in)
	in.Parent = asCreated(in.Parent, in.Now)
	if len(w.ties) > len(in.Children) {
		// An owner reference does not name the node of an object. The first run finds it by the rendered names; the
		// second run then sees the children.
		w.claim(run(ctx, in, w).Nodes)
	}
	return run(ctx, in, w)
}

// Matches evaluates spec.parent.when. The error says why its value is unknown.
func Matches(ctx context.Context, in Input) (bool, error) {
	w := newWorld(in)
	return evaluationOf(ctx, in, w).Matches()
}

// asCreated is a copy of a handwritten object, with the metadata that the API server sets in every object.
func asCreated(written *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	created := written.DeepCopy()
	if created.GetUID() == "" {
		created.SetUID("00000000-0000-0000-0000-000000000000")
	}
	if created.GetResourceVersion() == "" {
		created.SetResourceVersion("1")
	}
	if created.GetGeneration() == 0 {
		created.SetGeneration(1)
	}
	if at := created.GetCreationTimestamp(); at.IsZero() {
		created.SetCreationTimestamp(metav1.NewTime(now))
	}
	return created
}

// Failed reports whether something in the rule has failed for this parent, and will fail until somebody changes
// something.
func (p *Preview) Failed() bool {
	for _, n := range p.Nodes {
		if n.State == program.StateFailed || slices.ContainsFunc(n.Refused, Refused.IsFinal) {
			return true
		}
	}
	return p.failed || p.patchFailed() || len(p.Result.StatusFailed) > 0 || p.StatusRefused != nil
}

func (p *Preview) patchFailed() bool {
	return slices.ContainsFunc(p.Result.Patches, func(o program.PatchResult) bool { return o.State == program.StateFailed })
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
	for _, object := range n.Objects {
		all = append(all, object.Unstructured)
	}
	for _, kept := range n.Kept {
		all = append(all, kept.Object)
	}
	for _, refused := range n.Refused {
		all = append(all, refused.Object)
	}
	return all
}

// MayPrune reports whether children that are no longer rendered may be deleted: the children of every node are known,
// and all rendered objects could be written.
func (p *Preview) MayPrune() bool {
	return !slices.ContainsFunc(p.Nodes, func(n Node) bool {
		return n.BlocksPrune || len(n.Refused) > 0 || n.State != program.StateApplied && n.State != program.StateSkipped
	})
}

// IsFinal reports whether the refusal stays until somebody does something. It does not if the object is being deleted.
func (r Refused) IsFinal() bool {
	_, terminating := errors.AsType[*refusal.TerminatingError](r.Err)
	return !terminating
}

func run(ctx context.Context, in Input, w *world) *Preview {
	p := &Preview{Rule: in.Program.Name, Parent: in.Parent, Secrets: w.secrets}
	w.secrets.Note(in.Parent)
	if p.Unmatched = unselected(in.Program.Parent, in.Parent, w); p.Unmatched != "" {
		p.Outside = true
		return p
	}
	ev := evaluationOf(ctx, in, w)
	switch ok, err := ev.Matches(); {
	case err != nil:
		p.Unmatched, p.failed = "it is not known whether it is for the parent: "+err.Error(), true
		return p
	case !ok:
		p.Unmatched = "spec.parent.when is false"
		return p
	}
	nodes := map[string]Node{}
	count := 0
	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
		count++
		for _, rendered := range batch {
			node, live := w.write(ev, rendered)
			node.Batch = count
			nodes[rendered.Node] = node
			ev.Applied(rendered.Node, live)
		}
	}
	p.Result, p.Evaluation = ev.Result(), ev
	for _, outcome := range p.Result.Nodes {
		node := nodes[outcome.ID]
		node.NodeResult = outcome
		for i := range node.Objects {
			node.Objects[i].NotReady = ev.WhyNotReady(node.ID, node.Objects[i].Unstructured)
		}
		for i := range node.Kept {
			node.Kept[i].NotReady = ev.WhyNotReady(node.ID, node.Kept[i].Object)
		}
		p.Nodes = append(p.Nodes, node)
	}
	p.StatusRefused = w.checkStatus(in, p.Result)
	return p
}

// evaluationOf begins an evaluation for the parent.
func evaluationOf(ctx context.Context, in Input, w *world) *program.Evaluation {
	ev := in.Program.Evaluate(ctx, program.Input{
		Parent: in.Parent, Now: in.Now, Reader: w, Missing: in.Missing, Finalizing: in.Program.Finalize != nil && in.Parent.GetDeletionTimestamp() != nil,
	})
	w.ignores = ev.Ignores
	return ev
}

// write decides what the engine would do with the rendered objects of a node. live are those objects after the write,
// with nil for each one that is not written.
func (w *world) write(ev *program.Evaluation, rendered program.Rendered) (node Node, live []*unstructured.Unstructured) {
	for _, object := range rendered.Kept {
		node.Kept = append(node.Kept, Kept{
			Object: object, Why: w.whyKept(&rendered, object), Ending: ev.Ending(object), Recreated: w.recreatesLater(&rendered, object),
		})
	}
	live = make([]*unstructured.Unstructured, len(rendered.Objects))
	for i, object := range rendered.Objects {
		w.secrets.Note(object)
		if err := w.refusal(rendered.Node, object); err != nil {
			node.Refused = append(node.Refused, Refused{Object: object, Err: err})
			continue
		}
		applied := w.applied(rendered.Node, object)
		if err := w.check(applied, w.byID[identity.Of(object)]); err != nil {
			node.Refused = append(node.Refused, Refused{Object: object, Err: err})
			continue
		}
		live[i] = applied
		written := Object{Unstructured: object, Written: w.normalised(object), Live: live[i], Ignore: w.ignored(rendered.Node, object), Ending: ev.Ending(object)}
		written.Recreation, written.WhyRecreated = w.recreation(rendered.Node, object, rendered.Recreation(i))
		written.KeepsGenerated = rendered.KeepsGenerated(i)
		if w.stepwise && written.Recreation == RecreateNow {
			node.Refused, live[i] = append(node.Refused, Refused{Object: object, Err: apply.TerminatingNow(w.byID[identity.Of(object)])}), nil
		}
		node.Objects = append(node.Objects, written)
	}
	return node, live
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
func unselected(spec program.Parent, parent *unstructured.Unstructured, w *world) string {
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
	switch object := w.namespace(namespace); {
	case object == nil:
		return "spec.parent.namespaceSelector needs the Namespace " + namespace + ", which is not given"
	case !spec.NamespaceSelector.Matches(labels.Set(object.GetLabels())):
		return "spec.parent.namespaceSelector does not match the labels of Namespace " + namespace
	}
	return ""
}
