package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
)

// Patch describes one node of spec.patches.
type Patch struct {
	ID       string
	GVK      schema.GroupVersionKind
	Position diagnostic.Position
	// Conditional is true for a patch that has a when.
	Conditional bool
	// Parent is true for a patch of the parent itself.
	Parent bool
	// Namespaced is what Options.Kinds said of the kind; true without Kinds.
	Namespaced bool
	// Namespace is the target's where it is written without an expression. Empty: in
	// the parent's, in several, or nowhere.
	Namespace string
	// Selector is the target's where it holds no expression, else nil.
	Selector labels.Selector
	// Refuse is true where nothing is to be taken from another field manager.
	Refuse bool

	// Unresolved is true where the kind was missing when the rule was compiled: whether
	// it is namespaced is not known.
	Unresolved bool

	kind Kind
}

// PatchOutcome is what became of one patch in an evaluation.
type PatchOutcome struct {
	ID string
	// State is StateApplied where all that the patch sets is known, else
	// StateSkipped, StateWaiting or StateFailed.
	State State
	// Path, Message and Advice are those of a NodeOutcome.
	Path, Message, Advice string
	// KindMissing is true where it waits because a kind is missing.
	KindMissing bool
	// Contributions say what is to be set where, in the order of the items.
	Contributions []Contribution
	// Unknown is true where it is not known of all items which objects they are for:
	// what the parent contributed to any object before must stay.
	Unknown bool
}

// Text is the message with the advice.
func (o PatchOutcome) Text() string { return withAdvice(o.Message, o.Advice) }

// Contribution is what one item of a patch sets in one object, or in all that a
// selector selects.
type Contribution struct {
	Target Target
	// Object holds apiVersion, kind and the fields to set, and nothing that names
	// an object. It is the caller's. It is nil where the fields are not known now:
	// what the parent contributed there before must stay.
	Object *unstructured.Unstructured
}

// Target names the objects that a contribution is for.
type Target struct {
	// Namespace is empty for a cluster-scoped kind, and with AllNamespaces.
	Namespace     string
	AllNamespaces bool
	// Name names one object. Empty: all that Selector selects.
	Name     string
	Selector labels.Selector
}

// Patches lists the nodes of spec.patches in the order of the rule.
func (p *Program) Patches() []Patch {
	out := make([]Patch, len(p.patches))
	for i, patch := range p.patches {
		out[i] = patch.Patch
	}
	return out
}

// renderPatches says what the patches set. They come after all children: what they
// read of one that is not settled now waits.
func (e *Evaluation) renderPatches(out *Outcome) {
	if len(e.prog.patches) == 0 {
		return
	}
	out.Patches = make([]PatchOutcome, len(e.prog.patches))
	for i, patch := range e.prog.patches {
		out.Patches[i] = e.renderPatch(patch)
	}
}

func (e *Evaluation) renderPatch(patch *compiledPatch) PatchOutcome {
	out := PatchOutcome{ID: patch.ID, State: StateApplied}
	tuples, p := e.tuples(&patch.body)
	if p != nil {
		out.Unknown = true
		out.stop(p)
		return out
	}
	var first *problem
	skipped := 0
	for at, t := range tuples {
		p := e.overdue()
		if p != nil {
			out.Unknown = true
		} else {
			s := scope{ev: e, body: &patch.body, items: t, index: int32(at), locals: newMemos(&patch.body)} //nolint:gosec // As in renderItems.
			var set, known bool
			if set, known, p = e.contribute(patch, &s, &out); !set && p == nil {
				skipped++
			}
			out.Unknown = out.Unknown || !known
		}
		if p != nil && (first == nil || first.verdict == waits && p.verdict != waits) {
			first = p // a failure needs someone to do something
		}
		if out.Unknown && p != nil && e.late {
			break
		}
	}
	switch {
	case first != nil:
		out.stop(first)
	case skipped == len(tuples):
		out.State = StateSkipped
	}
	return out
}

func (o *PatchOutcome) stop(p *problem) {
	o.State = StateFailed
	if p.verdict == waits {
		o.State = StateWaiting
	}
	o.Path, o.Message, o.Advice, o.KindMissing = p.path, p.message, p.advice, p.missing
}

// contribute adds what one item sets. set is false where its when is false, and
// known where it cannot be said which objects the item is for.
func (e *Evaluation) contribute(patch *compiledPatch, s *scope, out *PatchOutcome) (set, known bool, p *problem) {
	if patch.when != nil {
		ok, stopped := patch.when.isTrue(s)
		if stopped == nil && !ok {
			return false, true, nil
		}
		if stopped != nil {
			p = stopped.under("when")
		}
	}
	if missing := e.checkKind(patch.GVK); missing != nil {
		if p == nil {
			p = missing
		}
		return true, false, p
	}
	target, stopped := e.targetOf(patch, s)
	if stopped != nil {
		if p == nil {
			p = stopped
		}
		return true, false, p
	}
	if p != nil {
		out.Contributions = append(out.Contributions, Contribution{Target: target})
		return true, true, p
	}
	object, p := e.renderContribution(patch, s)
	out.Contributions = append(out.Contributions, Contribution{Target: target, Object: object})
	return true, true, p
}

func (e *Evaluation) targetOf(patch *compiledPatch, s *scope) (Target, *problem) {
	if patch.target == nil {
		return Target{Namespace: e.object.GetNamespace(), Name: e.object.GetName()}, nil
	}
	q, p := e.query(patch.target, s)
	if p != nil {
		return Target{}, p
	}
	return Target{Namespace: q.Namespace, AllNamespaces: q.AllNamespaces, Name: q.Name, Selector: q.Selector}, nil
}

func (e *Evaluation) renderContribution(patch *compiledPatch, s *scope) (*unstructured.Unstructured, *problem) {
	e.makeRoom()
	val, ok, p := patch.template.render(s)
	if p != nil {
		return nil, p.under("template")
	}
	fields, isMap := val.(map[string]any)
	if !ok || !isMap {
		return nil, failure("the template gives no fields").under("template")
	}
	if p := checkPatched(fields); p != nil {
		return nil, p.under("template")
	}
	if p := e.holdObject(fields); p != nil {
		return nil, p.under("template")
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(patch.GVK)
	return object, nil
}

// checkPatched refuses what only shows when a template is rendered: fields that say
// which object this is, or whose.
func checkPatched(fields map[string]any) *problem {
	for _, name := range []string{"apiVersion", "kind"} {
		if _, there := fields[name]; there {
			return failure("a patch cannot set it").under(name)
		}
	}
	metadata, there := fields["metadata"]
	if !there {
		return nil
	}
	inner, ok := metadata.(map[string]any)
	if !ok {
		return failure("must be a map").under("metadata")
	}
	for _, name := range []string{"name", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields", "ownerReferences"} {
		if _, there := inner[name]; there {
			return failure("a patch cannot set it").under("metadata." + name)
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		keys, _ := inner[field].(map[string]any)
		for name := range keys {
			if isOwnMark(name) {
				return failure("a patch cannot set it: it is Kanon's own").under(fmt.Sprintf("metadata.%s[%s]", field, name))
			}
		}
	}
	return nil
}
