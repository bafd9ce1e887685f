package explain

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Rule is a rule with its preview for one parent.
type Rule struct {
	Name types.NamespacedName
	// ID is the rule's id in marks and field managers.
	ID      string
	Decoded *syntax.Rule
	Program *program.Program
	Preview *preview.Preview
}

// Writings lists what the rule writes to an object of the cluster: as a child, by patches, and as the status of the
// parent.
func (r *Rule) Writings(live *unstructured.Unstructured) []Writing {
	p := r.Preview
	if p.Evaluation == nil {
		return r.unmatched(live)
	}
	tracer := NewTracer(r.Decoded, r.Program, p.Evaluation)
	all := r.asChild(tracer, live)
	for _, patched := range tracer.Patches() {
		if patched.Object.GroupVersionKind().GroupKind() != live.GroupVersionKind().GroupKind() || !patched.Target.Selects(live) {
			continue
		}
		w := r.writing("patch "+patched.Patch, fieldset.PatchManager(r.ID, patched.Patch))
		w.Fields = patched.Fields
		at := slices.IndexFunc(r.Program.Patches, func(patch *program.Patch) bool { return patch.ID == patched.Patch })
		w.Refuses = r.Program.Patches[at].Refuse
		all = append(all, w)
	}
	if identity.Of(live) == identity.Of(p.Parent) && (r.Decoded.Status != nil || len(r.Decoded.Conditions) > 0) {
		w := r.writing("status", operator.StatusManagers+r.ID)
		w.Fields = append(tracer.Status(p.Result.Status), tracer.Conditions(p.Result.Conditions, conditionsOf(live))...)
		if p.Result.KeepStatus {
			w.Kept = "keeps its status: the status of the rule waits or fails"
		}
		all = append(all, w)
	}
	return all
}

// conditionsOf returns a function that finds an object's condition by its type.
func conditionsOf(object *unstructured.Unstructured) func(conditionType string) int {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return func(conditionType string) int {
		return slices.IndexFunc(list, func(item any) bool { return textOf(item, "type") == conditionType })
	}
}

// writing starts a Writing of the rule for the preview's parent.
func (r *Rule) writing(part, manager string) Writing {
	name := r.Name.String()
	if r.Name.Namespace == "" {
		name = r.Name.Name
	}
	w := Writing{Rule: name, Part: part, Parent: mark.RefOf(r.Preview.Parent), Manager: manager}
	w.Parent.UID = ""
	switch {
	case r.Program.Suspend:
		w.Kept = "stays as it is: the rule is suspended"
	case conditions.IsSuspended(r.Preview.Parent):
		w.Kept = "stays as it is: its parent is suspended"
	}
	return w
}

// unmatched says what happens to an object if the rule does not select its parent.
func (r *Rule) unmatched(live *unstructured.Unstructured) []Writing {
	owner, ok := mark.ReadOwner(live)
	if !ok || owner.RuleID != r.ID {
		return nil
	}
	w := r.writing("child "+owner.Node, fieldset.Manager)
	w.Problem = "it is not rendered: " + r.Preview.Unmatched
	return []Writing{w}
}

// asChild is what the rule writes to an object as one of its children; empty if the object is not one.
func (r *Rule) asChild(tracer *Tracer, live *unstructured.Unstructured) []Writing {
	id := identity.Of(live)
	for _, node := range r.Preview.Nodes {
		w := r.writing("child "+node.ID, fieldset.Manager)
		for _, kept := range node.Kept {
			if identity.Of(kept.Unstructured) == id {
				return []Writing{r.rendered(w, tracer, node.ID, kept.Unstructured, kept.Why)}
			}
		}
		for _, object := range node.Objects {
			if identity.Of(object.Unstructured) == id {
				return []Writing{r.rendered(w, tracer, node.ID, object.Unstructured, "")}
			}
		}
		for _, refused := range node.Refused {
			if identity.Of(refused.Object) == id {
				w.Problem = "the rule renders an object of this name, and does not write it: " + refused.Err.Error()
				return []Writing{w}
			}
		}
	}
	owner, ok := mark.ReadOwner(live)
	if !ok || owner.RuleID != r.ID || owner.Parent.UID != r.Preview.Parent.GetUID() {
		return nil
	}
	w := r.writing("child "+owner.Node, fieldset.Manager)
	if w.Problem = r.whyNotRendered(owner.Node); w.Kept != "" {
		w.Problem, w.Kept = "the rule does not render it now, and it "+w.Kept, ""
	}
	return []Writing{w}
}

// whyNotRendered says why a child is no longer rendered, and what Kanon does with it.
func (r *Rule) whyNotRendered(id string) string {
	for _, node := range r.Preview.Nodes {
		switch {
		case node.ID != id:
		case node.State == program.StateWaiting:
			return "it is not rendered now, and stays: the child waits: " + node.Text()
		case node.State == program.StateFailed:
			return "it is not rendered now, and stays: the child fails: " + node.Text()
		}
	}
	const gone = "the rule does not render it any more: "
	i, ok := r.Program.ByID[id]
	switch {
	case ok && r.Program.Children[i].Ending.WhenPruned == syntax.EndOrphan:
		return gone + "its deletionPolicy keeps it, and Kanon orphans it"
	case !r.Preview.IsCurrent():
		return gone + "it stays until all children of the parent are rendered and written"
	default:
		return gone + "Kanon deletes it, unless the prune guard blocks that"
	}
}

// rendered adds the fields and their sources to what the rule writes.
func (r *Rule) rendered(w Writing, tracer *Tracer, node string, object *unstructured.Unstructured, kept string) Writing {
	w.Fields, _ = tracer.Child(node, object)
	if kept != "" {
		w.Kept = kept
	}
	child := r.Program.Children[r.Program.ByID[node]]
	w.Ignored = slices.Concat(child.Ignore, r.Preview.Evaluation.Ignores(object))
	return w
}
