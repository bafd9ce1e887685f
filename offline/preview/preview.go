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
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/redact"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Input is what a preview starts from. Objects are only read.
type Input struct {
	Program *program.Program
	Parent  *unstructured.Unstructured
	// With are objects of the cluster besides the parent: what the rule looks up,
	// children as they are, and the parent's Namespace where the rule selects by
	// its labels. A child of the parent is what its mark or its controller owner
	// reference says.
	With []*unstructured.Unstructured
	// Children are objects of which it is known that the rule created them for the parent. They are not in With.
	Children []Child
	// Stepwise has an object that is to be recreated deleted by this evaluation and created by a later one, as in a cluster: what
	// reads it waits. false: the evaluation shows the new object.
	Stepwise bool
	// Replaced are objects that were deleted to be recreated, of which the new ones keep the generated values.
	Replaced []*unstructured.Unstructured
	// Lookup answers what the rule looks up. nil: With and Children do.
	Lookup func(program.Query) ([]*unstructured.Unstructured, error)
	// Missing are kinds that the cluster does not have. nil: it has all.
	Missing map[schema.GroupVersionKind]program.Absence
	Now     time.Time
	// Schema is that of a kind, by which lists are merged; nil for one that has none. nil: no kind has.
	Schema func(schema.GroupVersionKind) *openapi.Schema
	// HasStatus says whether a kind has a status subresource: its status is not written with the object. nil: no kind has.
	HasStatus func(schema.GroupVersionKind) bool
	// Check says why the API server would not take an object; old is the one that exists, or nil. nil: it takes all.
	Check func(object, old *unstructured.Unstructured) error
	// CheckStatus is Check for a write of the parent's status.
	CheckStatus func(object, old *unstructured.Unstructured) error
	// Status is what the rule rendered last of the parent's status. A field that it has, and that is no longer rendered, is removed.
	Status map[string]any
	// Namespace is Kanon's own. Empty: the marks of children do not tell this rule
	// from others.
	Namespace string
}

// Child is an object that the rule created for the parent.
type Child struct {
	// Node is the child of the rule that it belongs to.
	Node   string
	Object *unstructured.Unstructured
	// Rendered is the object as the rule rendered it last. A field that it has, and that is no longer rendered, is removed by
	// the next write.
	Rendered *unstructured.Unstructured
}

// Preview is what a rule makes of a parent.
type Preview struct {
	// Rule is the rule's name.
	Rule   string
	Parent *unstructured.Unstructured
	// Unmatched says why the rule is not for the parent. Empty: it is, and what
	// follows is filled in.
	Unmatched string
	// Outside is true if that is for the labels or the namespace of the parent, so that Kanon does not evaluate the rule for it.
	Outside bool
	// Nodes are in the order of spec.children.
	Nodes []Node
	// Outcome is the engine's.
	Outcome program.Outcome
	// Evaluation is the one that came to this, for those who ask why; nil where the rule is not for the parent.
	Evaluation *program.Evaluation
	// StatusRefused says why the API server would not take the status that the rule renders; nil: it would.
	StatusRefused error
	// Secrets are the values of the Secrets that the rule has to do with: they are not shown, wherever they are.
	Secrets redact.Values
	// failed is true where the rule cannot say whether it is for the parent.
	failed bool
}

// Node is a child of the rule with the objects that would be applied.
type Node struct {
	program.NodeOutcome
	// Batch counts the writes before: nodes of one batch are written side by side.
	Batch   int
	Objects []Object
	// Kept are those that would not be applied: that are not to be created, or left as they are.
	Kept []Kept
	// Refused are those that cannot be written: something else has their name, or the API server would not take them. Stepwise, those
	// of Objects that are recreated are in it as well.
	Refused []Refused
}

// Object is an object that would be applied.
type Object struct {
	*unstructured.Unstructured
	// Written is the object as the engine writes it, but for its marks: with the defaults of the keys of lists, and without what the API
	// server does not store.
	Written *unstructured.Unstructured
	// Live is the object as it is after the write.
	Live *unstructured.Unstructured
	// Ignore are the fields that are left to others.
	Ignore []fieldset.Path
	// Ending says whether it is deleted, or stays, when it is no longer wanted.
	Ending program.Ending
	// Recreation says whether the object that exists is deleted first, and WhyRecreated why.
	Recreation   Recreation
	WhyRecreated string
	// KeepsGenerated is true if an object that is created in its place has its generated values.
	KeepsGenerated bool
	// NotReady says why Live is not ready; without a message it is.
	NotReady program.Problem
}

// Recreation says whether an object is deleted and created again.
type Recreation uint8

const (
	// RecreateNever means that it is changed in place, or is as it should be.
	RecreateNever Recreation = iota
	// RecreateIfRefused means that the API server decides: if it refuses the change.
	RecreateIfRefused
	// RecreateNow means that it is deleted and created again.
	RecreateNow
)

// Refused is an object that the engine would not write to.
type Refused struct {
	Object *unstructured.Unstructured
	// Err is the engine's reason, an *refusal.NameConflictError or an *refusal.TerminatingError, or that of Input.Check.
	Err error
}

// Kept is an object with which something else is done than to apply it.
type Kept struct {
	Object *unstructured.Unstructured
	// Why says what is done and why.
	Why string
	// Ending says whether the object is deleted, or stays, when it is no longer wanted.
	Ending program.Ending
	// Recreated is true if it is deleted and created again later: once its rollout has come to it, or what it depends on is ready.
	Recreated bool
	// NotReady says why the object that exists is not ready; without a message it is, or does not exist.
	NotReady program.Problem
}

// Evaluate runs the rule once. ctx bounds the time that expressions take.
func Evaluate(ctx context.Context, in Input) *Preview {
	w := newWorld(in)
	in.Parent = asCreated(in.Parent, in.Now)
	if len(w.ties) > len(in.Children) {
		// An owner reference does not say which child of the rule an object is: the first
		// run finds that by the names, and the second sees the children.
		w.claim(run(ctx, in, w).Nodes)
	}
	return run(ctx, in, w)
}

// Matches says whether the rule is for the parent, as far as spec.parent.when says. The error says why that is not known.
func Matches(ctx context.Context, in Input) (bool, error) {
	w := newWorld(in)
	return evaluationOf(ctx, in, w).Matches()
}

// asCreated is an object with the metadata that the API server sets in every object, for one
// that is written by hand.
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

// Failed says whether something in the rule has no value for this parent and
// will have none before somebody changes something.
func (p *Preview) Failed() bool {
	for _, n := range p.Nodes {
		if n.State == program.StateFailed || slices.ContainsFunc(n.Refused, Refused.IsFinal) {
			return true
		}
	}
	return p.failed || patchFailed(p.Outcome.Patches) || len(p.Outcome.StatusFailed) > 0 || p.StatusRefused != nil
}

// Rendered lists the objects that the rule renders: those that are applied, kept and refused.
func (p *Preview) Rendered() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, node := range p.Nodes {
		for _, object := range node.Objects {
			all = append(all, object.Unstructured)
		}
		for _, kept := range node.Kept {
			all = append(all, kept.Object)
		}
		for _, refused := range node.Refused {
			all = append(all, refused.Object)
		}
	}
	return all
}

// MayPrune says whether the parent's children that are not rendered may be deleted: it is known of every node what it renders, and all
// of it could be written.
func (p *Preview) MayPrune() bool {
	return !slices.ContainsFunc(p.Nodes, func(n Node) bool {
		return n.HoldPrune || len(n.Refused) > 0 || n.State != program.StateApplied && n.State != program.StateSkipped
	})
}

// IsFinal says whether nothing changes until somebody does something.
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
	p.Outcome, p.Evaluation = ev.Outcome(), ev
	for _, outcome := range p.Outcome.Nodes {
		node := nodes[outcome.ID]
		node.NodeOutcome = outcome
		for i := range node.Objects {
			node.Objects[i].NotReady = ev.WhyNotReady(node.ID, node.Objects[i].Unstructured)
		}
		for i := range node.Kept {
			node.Kept[i].NotReady = ev.WhyNotReady(node.ID, node.Kept[i].Object)
		}
		p.Nodes = append(p.Nodes, node)
	}
	p.StatusRefused = w.checkStatus(in, p.Outcome)
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

// write is what the engine would do with the objects of a node, and those as they are then; nil for one that it would not
// write to.
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
		if err := w.check(applied, w.byID[identityOf(object)]); err != nil {
			node.Refused = append(node.Refused, Refused{Object: object, Err: err})
			continue
		}
		live[i] = applied
		written := Object{Unstructured: object, Written: w.normalised(object), Live: live[i], Ignore: pathsOf(w.ignored(rendered.Node, object)), Ending: ev.Ending(object)}
		written.Recreation, written.WhyRecreated = w.recreation(rendered.Node, object, rendered.Renewal(i))
		written.KeepsGenerated = rendered.KeepsGenerated(i)
		if w.stepwise && written.Recreation == RecreateNow {
			node.Refused, live[i] = append(node.Refused, Refused{Object: object, Err: apply.TerminatingNow(w.byID[identityOf(object)])}), nil
		}
		node.Objects = append(node.Objects, written)
	}
	return node, live
}

// whenItStays says when the object is not deleted; empty if it always is.
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

// unselected says why a rule is not for a parent, as far as its labels, its
// namespace and that one's labels tell; empty where it may be.
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
