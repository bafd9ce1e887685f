package trace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
)

// Options are what a Tracer needs. All fields are required.
type Options struct {
	Client dynamic.Interface
	Kinds  *manifests.Kinds
	// Rules returns the rules that may select an object. It is called for each object of a tree.
	Rules func(ctx context.Context, object *unstructured.Unstructured) ([]Rule, error)
	// Namespace is Kanon's own.
	Namespace string
	Now       func() time.Time
}

// Tracer makes trees of objects in a cluster.
type Tracer struct{ options Options }

// New makes a Tracer. It sends no request.
func New(o Options) *Tracer { return &Tracer{options: o} }

// NoRuleError reports that no rule selects or created an object.
type NoRuleError struct{ Object identity.ID }

func (e *NoRuleError) Error() string { return "no rule is for " + e.Object.String() }

// Trace reads the tree of an object. The error is a *NoRuleError if no rule selects or created the object; any other
// error comes from a request.
func (t *Tracer) Trace(ctx context.Context, object *unstructured.Unstructured) (*Node, error) {
	w := &walk{
		Tracer: t, now: t.options.Now(), visited: map[types.UID]bool{}, secrets: redact.Values{},
		owned: &ownership{options: t.options, listed: map[place]map[types.UID][]*unstructured.Unstructured{}},
	}
	root := nodeOf(Parent, object)
	if err := w.grow(ctx, root, object, true); err != nil {
		return nil, err
	}
	if len(root.Rules) == 0 && !root.markedBy(object) {
		return nil, &NoRuleError{Object: identity.Of(object)}
	}
	if err := w.addEvents(ctx, root); err != nil {
		return nil, err
	}
	w.hide(ctx, root)
	return root, nil
}

// markedBy notes which parent an object is a child of; false if it has no mark.
func (n *Node) markedBy(object *unstructured.Unstructured) bool {
	owner, ok := mark.ReadOwner(object)
	if !ok {
		return false
	}
	n.Role, n.ID = Child, owner.Node
	parent := "another object"
	if owner.Parent.Name != "" {
		parent = owner.Parent.String()
	}
	n.note(FromRule, "children."+owner.Node, "it is a child of "+parent)
	return true
}

// walk is one walk through a tree. It visits each object once, so it ends.
type walk struct {
	*Tracer
	now     time.Time
	visited map[types.UID]bool
	owned   *ownership
	// secrets are values that the tree must not show: a condition or an Event may quote one.
	secrets redact.Values
	// isUnsure is true if it is not known which Secrets some rule of the tree reads.
	isUnsure bool
}

// grow adds what belongs below a node, and sets the node's state if a rule selects its object.
func (w *walk) grow(ctx context.Context, n *Node, object *unstructured.Unstructured, isRoot bool) error {
	w.visited[object.GetUID()] = true
	w.secrets.Note(object)
	rules, err := w.options.Rules(ctx, object)
	if err != nil {
		return err
	}
	var branches []*branch
	for _, rule := range rules {
		f, err := w.gather(ctx, rule, object)
		if err != nil {
			return err
		}
		n.Rules = append(n.Rules, rule.Name)
		branches = append(branches, branchOf(f))
	}
	if len(rules) > 0 {
		before := *n
		n.Notes = nil
		n.settle(object, rules, branches)
		if !isRoot { // keep the notes of the rule that created it
			n.Notes = append(n.withoutReported(before.Notes), n.Notes...)
			if !before.State.IsGood() {
				n.State = before.State
			}
		}
	} else if isRoot {
		n.judge(object, w.awaitsStatus(object.GroupVersionKind()))
	}
	for _, b := range branches {
		for _, child := range b.nodes {
			n.Children = append(n.Children, child)
			if live := b.objects[child]; live != nil && !w.visited[live.GetUID()] {
				if err := w.grow(ctx, child, live, false); err != nil {
					return err
				}
			}
		}
	}
	return w.growOwned(ctx, n, object, len(rules) > 0)
}

// withoutReported drops the notes that the conditions of the node repeat.
func (n *Node) withoutReported(notes []Note) []Note {
	if !slices.ContainsFunc(n.Notes, func(note Note) bool { return note.Source == FromCondition }) {
		return notes
	}
	return slices.DeleteFunc(notes, func(note Note) bool { return note.Path == "" })
}

// growOwned adds what an object owns by owner references.
func (w *walk) growOwned(ctx context.Context, n *Node, object *unstructured.Unstructured, hasRules bool) error {
	owned, err := w.owned.of(ctx, object, hasRules)
	if err != nil {
		return err
	}
	for _, below := range owned {
		if w.visited[below.GetUID()] || isRetired(below, object) {
			continue
		}
		child := nodeOf(Owned, below)
		child.judge(below, w.awaitsStatus(below.GroupVersionKind()))
		n.Children = append(n.Children, child)
		if err := w.grow(ctx, child, below, false); err != nil {
			return err
		}
	}
	return nil
}

// isRetired reports whether an object is a ReplicaSet of an earlier rollout.
func isRetired(object, owner *unstructured.Unstructured) bool {
	if object.GetKind() != "ReplicaSet" {
		return false
	}
	wanted, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
	exist, _, _ := unstructured.NestedInt64(object.Object, "status", "replicas")
	ofOwner, _, _ := unstructured.NestedInt64(owner.Object, "spec", "replicas")
	return wanted == 0 && exist == 0 && ofOwner != 0
}

// gather reads what one rule needs for one parent.
func (w *walk) gather(ctx context.Context, rule Rule, parent *unstructured.Unstructured) (facts, error) {
	f := facts{rule: rule, parent: parent, awaitsStatus: w.awaitsStatus}
	o := livepreview.Options{Client: w.options.Client, Kinds: w.options.Kinds, Program: rule.Program, Namespace: w.options.Namespace, Now: w.now}
	if rule.Program == nil {
		children, err := o.Children(ctx, rule.ID, rule.Kinds, parent)
		f.children = children
		sortObjects(children)
		w.isUnsure = true
		return f, err
	}
	p, err := livepreview.New(o).Preview(ctx, parent)
	if err != nil {
		return f, fmt.Errorf("rule %s: %w", rule.Name, err)
	}
	maps.Copy(w.secrets, p.Secrets)
	if parent.GetDeletionTimestamp() != nil && rule.Program.Finalize == nil {
		f.children = slices.Collect(maps.Values(p.Owned)) // nothing is rendered any more
		sortObjects(f.children)
		return f, nil
	}
	f.preview = p
	for _, patch := range p.Result.Patches {
		var all [][]livepreview.Target
		for _, c := range patch.Contributions {
			targets, err := p.Targets(ctx, patch.ID, c)
			if err != nil {
				return f, fmt.Errorf("rule %s: %w", rule.Name, err)
			}
			all = append(all, targets)
		}
		f.targets = append(f.targets, all)
	}
	return f, nil
}

// hide removes the values of Secrets from the texts of a tree.
func (w *walk) hide(ctx context.Context, root *Node) {
	if w.isUnsure {
		all, _ := live.SecretValues(ctx, w.options.Client, root.Namespace) // as far as they may be read
		maps.Copy(w.secrets, all)
	}
	masked := w.secrets.Masker()
	for _, n := range root.All() {
		n.Selector = masked(n.Selector)
		for i := range n.Notes {
			n.Notes[i].Text = masked(n.Notes[i].Text)
		}
	}
}

// awaitsStatus reports whether an object of a kind is ready only once it has a status.
func (t *Tracer) awaitsStatus(gvk schema.GroupVersionKind) bool {
	kind, ok := t.options.Kinds.Lookup(gvk)
	return ok && kind.HasStatus && isCustom(gvk.GroupKind())
}
