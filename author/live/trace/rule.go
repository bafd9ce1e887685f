package trace

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
)

// Rule is a rule that may select an object.
type Rule = live.Summary

// facts are what was read for one rule and one parent.
type facts struct {
	rule   Rule
	parent *unstructured.Unstructured
	// preview is nil without a Program. Then children are those of the parent.
	preview  *livepreview.Preview
	children []*unstructured.Unstructured
	// targets are those of patches: by the patch, then by the contribution.
	targets [][][]livepreview.Target
	// awaitsStatus reports whether an object of a kind is ready only once it has a status.
	awaitsStatus func(schema.GroupVersionKind) bool
}

// branch is what a rule contributes to the tree of its parent.
type branch struct {
	// nodes are in the order of the rule: lookups, children, patches.
	nodes []*Node
	// objects are the live objects of nodes.
	objects map[*Node]*unstructured.Unstructured
	// notes are about the parent.
	notes []Note
	// waits is true if part of the parent's own status waits, and fails if something about the parent failed.
	waits, fails bool
}

// branchOf decides what a rule contributes.
func branchOf(f facts) *branch {
	b := &branch{objects: map[*Node]*unstructured.Unstructured{}}
	for _, problem := range f.rule.Problems {
		b.say("rule "+f.rule.Name, problem)
	}
	switch {
	case f.preview == nil:
		for _, object := range f.children {
			b.existing(f, nodeOf(Child, object).of(f.rule.Name, ownerNode(object)), object)
		}
	case f.preview.Unmatched != "":
		b.say("rule "+f.rule.Name, "does not select it: "+f.preview.Unmatched)
		b.fails = f.preview.Failed()
		b.obsolete(f)
	default:
		b.lookups(f)
		for _, node := range f.preview.Nodes {
			b.child(f, node)
		}
		b.obsolete(f)
		for i, patch := range f.preview.Result.Patches {
			b.patch(f, patch, f.targets[i])
		}
		b.ofParent(f)
	}
	return b
}

func (b *branch) say(path, text string) {
	b.notes = append(b.notes, Note{Source: FromRule, Path: path, Text: text})
}

func (b *branch) add(n *Node, object *unstructured.Unstructured) *Node {
	b.nodes = append(b.nodes, n)
	if object != nil {
		b.objects[n] = object
	}
	return n
}

// existing adds an object with the state of its own status.
func (b *branch) existing(f facts, n *Node, object *unstructured.Unstructured) *Node {
	n.judge(object, f.awaitsStatus(object.GroupVersionKind()))
	return b.add(n, object)
}

// ownerNode is the id, in the rule, of the child that an object is, by its mark.
func ownerNode(object *unstructured.Unstructured) string {
	owner, _ := mark.ReadOwner(object)
	return owner.Node
}

// lookups adds what the rule reads.
func (b *branch) lookups(f facts) {
	for _, l := range f.preview.Lookups {
		id := l.Query.Lookup
		declared := f.rule.Program.LookupByID[id]
		if declared == nil {
			continue
		}
		n := nodeOfKind(Lookup, l.Query.GVK).of(f.rule.Name, id)
		n.Namespace = l.Query.Namespace
		var object *unstructured.Unstructured
		switch {
		case l.Query.Name == "":
			n.Selector = selectorText(l.Query)
			n.in(Found).note(FromRule, "", diagnostic.Counted(len(l.Found), "object"))
		case len(l.Found) > 0:
			object = l.Found[0]
			n = nodeOf(Lookup, object).of(f.rule.Name, id).in(Found)
		case declared.Optional:
			n.in(Skipped).note(FromRule, "", "does not exist, and is optional")
		default:
			n.in(Missing)
		}
		if l.Query.Name != "" {
			n.Name = l.Query.Name
		}
		if declared.Private { // the name may be the value of a Secret
			n.Name, n.UID, object = "(hidden)", "", nil
		}
		if l.Err != nil {
			n.in(Unknown).note(FromRule, "", l.Err.Error())
		}
		if object != nil && object.GetDeletionTimestamp() != nil {
			n.note(FromStatus, "", "is being deleted")
		}
		b.nodes = append(b.nodes, n) // without its object: what it owns is no part of the tree
	}
}

func selectorText(q program.Query) string {
	text := "*"
	if q.Selector != nil && !q.Selector.Empty() {
		text = q.Selector.String()
	}
	if q.AllNamespaces {
		text += " in all namespaces"
	}
	return text
}

// child adds the objects of one of the rule's children, and notes why objects are missing.
func (b *branch) child(f facts, node preview.Node) {
	before := len(b.nodes)
	for _, object := range slices.Concat(node.Objects, node.Kept) {
		b.rendered(f, node, object)
	}
	for _, refused := range node.Refused {
		n := nodeOf(Child, refused.Object).of(f.rule.Name, node.ID).in(Refused)
		if live := f.preview.Objects[identity.Of(refused.Object)]; live != nil && f.preview.Owned[identity.Of(live)] != nil {
			n = nodeOf(Child, live).of(f.rule.Name, node.ID) // it is the parent's own, which is being deleted
			b.objects[n] = live
			n.terminating(live)
		} else {
			n.note(FromRule, "", refused.Err.Error())
		}
		b.nodes = append(b.nodes, n)
	}
	whole := node.State == program.StateApplied || node.State == program.StateNotApplied
	if !whole {
		b.leftAsTheyAre(f, node)
	}
	switch added := b.nodes[before:]; {
	case whole && !node.Ready && len(added) > 0 && !slices.ContainsFunc(added, func(n *Node) bool { return n.State != Ready }):
		added[0].in(NotReady).note(FromRule, node.Path, node.Text()) // the reason is about all of them, such as a rollout
	case whole, len(added) > 0 && node.State == program.StateSkipped:
	default:
		b.unrendered(f, node, before)
	}
}

// rendered adds an object that the rule renders. One that is not written is live only if the parent owns it.
func (b *branch) rendered(f facts, node preview.Node, object preview.Object) {
	id := identity.Of(object.Unstructured)
	live, owned, written := f.preview.Objects[id], f.preview.Owned[id] != nil, object.Written != nil
	switch {
	case live == nil && written:
		b.add(nodeOf(Child, object.Unstructured).of(f.rule.Name, node.ID).in(Missing), nil)
		return
	case !written && !owned:
		b.add(nodeOf(Child, object.Unstructured).of(f.rule.Name, node.ID).in(Skipped), nil).note(FromRule, "", object.Why)
		return
	}
	n := b.add(nodeOf(Child, live).of(f.rule.Name, node.ID).in(Ready), live)
	if !owned {
		n.note(FromRule, "", "exists, and the rule takes it over: Kanon has not done so yet")
	}
	n.notReady(object.NotReady, live)
	n.note(FromRule, "", object.Why)
}

// notReady adds the rule's reason why an object is not ready.
func (n *Node) notReady(p program.Problem, live *unstructured.Unstructured) {
	if n.terminating(live) || p.Message == "" {
		return
	}
	n.State = NotReady
	n.note(FromRule, p.Path, p.Text())
	own := &Node{APIVersion: n.APIVersion, Kind: n.Kind}
	own.judge(live, false)
	if own.State == Failed {
		n.State = Failed
	}
	for _, note := range own.Notes {
		if !strings.HasSuffix(p.Message, note.Text) { // without readyWhen, both have the same text
			n.Notes = append(n.Notes, note)
		}
	}
}

// leftAsTheyAre adds the existing objects of a child that waits or failed. Kanon leaves them unchanged.
func (b *branch) leftAsTheyAre(f facts, node preview.Node) {
	if node.State == program.StateSkipped {
		return
	}
	for _, pruned := range f.preview.Pruned() {
		if ownerNode(pruned.Object) != node.ID {
			continue
		}
		n := b.existing(f, nodeOf(Child, pruned.Object).of(f.rule.Name, node.ID), pruned.Object)
		n.note(FromRule, "", "is left as it is, because children."+node.ID+" "+verb(node.State))
	}
}

// verb is the verb for a child that is not rendered.
func verb(state program.State) string {
	if state == program.StateFailed {
		return "fails"
	}
	return "waits"
}

// unrendered notes why one of the rule's children has no objects, or not all. If exactly one object was added for it,
// the note goes there.
func (b *branch) unrendered(f facts, node preview.Node, before int) {
	child := f.rule.Program.Children[f.rule.Program.ByID[node.ID]]
	state := map[program.State]State{program.StateSkipped: Skipped, program.StateWaiting: Waiting, program.StateFailed: Failed}[node.State]
	n := nodeOfKind(Child, child.GVK)
	if left := b.nodes[before:]; len(left) == 1 && !child.IsList {
		n = left[0]
		n.Notes = nil
	} else {
		b.nodes = append(b.nodes, n)
	}
	text := node.Text()
	if text == "" && state == Skipped {
		text = "its when is false"
	}
	n.of(f.rule.Name, node.ID).in(state).note(FromRule, node.Path, text)
}

// obsolete adds the objects that the rule no longer renders, and notes whether they are deleted, orphaned or kept. It
// also adds children that are being deleted.
func (b *branch) obsolete(f facts) {
	for _, pruned := range f.preview.Pruned() {
		if slices.ContainsFunc(b.nodes, func(n *Node) bool { return n.Role == Child && n.UID == pruned.Object.GetUID() }) {
			continue
		}
		n := b.add(nodeOf(Child, pruned.Object).of(f.rule.Name, ownerNode(pruned.Object)).in(Obsolete), pruned.Object)
		fate := "it will be deleted"
		switch {
		case f.preview.Unmatched != "" && f.preview.Failed():
			fate = "it stays while it is not known whether the rule is for the parent"
		case f.rule.Suspended:
			fate = "it stays while the rule is suspended"
		case pruned.Orphaned:
			fate = "it will be orphaned: its deletionPolicy keeps it"
		case pruned.Held:
			fate = "it stays until all children are up to date: " + blockers(f.preview.Preview)
		case f.rule.PruneHeld:
			fate = "the prune guard blocks its deletion"
		}
		n.note(FromRule, "", "the rule no longer renders it; "+fate)
	}
	for _, live := range f.preview.Owned {
		if live.GetDeletionTimestamp() == nil || slices.ContainsFunc(b.nodes, func(n *Node) bool { return n.Role == Child && n.UID == live.GetUID() }) {
			continue
		}
		b.existing(f, nodeOf(Child, live).of(f.rule.Name, ownerNode(live)), live)
	}
}

// blockers lists the children that block deletions.
func blockers(p *preview.Preview) string {
	var all []string
	for _, node := range p.Results() {
		if !node.IsCurrent() {
			all = append(all, "children."+node.ID)
		}
	}
	return strings.Join(all, ", ")
}

// patch adds the targets of a patch.
func (b *branch) patch(f facts, patch program.PatchResult, targets [][]livepreview.Target) {
	added := false
	for i, c := range patch.Contributions {
		if c.Object == nil {
			continue
		}
		added = true
		for _, target := range targets[i] {
			n := nodeOf(Patch, target.Unstructured).of(f.rule.Name, patch.ID).in(Applied)
			if target.Differs() {
				n.in(NotApplied).note(FromRule, "", "the fields have other values than the rule sets")
			}
			b.nodes = append(b.nodes, n)
		}
		if len(targets[i]) > 0 {
			continue
		}
		n := nodeOfKind(Patch, c.Object.GroupVersionKind()).of(f.rule.Name, patch.ID)
		n.Namespace, n.Name = c.Target.Namespace, c.Target.Name
		if n.Name != "" {
			n.in(Missing)
		} else {
			n.Selector = selectorText(program.Query{Target: program.Target{Selector: c.Target.Selector, AllNamespaces: c.Target.AllNamespaces}})
			n.in(Skipped).note(FromRule, "", diagnostic.Counted(0, "object"))
		}
		b.nodes = append(b.nodes, n)
	}
	if patch.State == program.StateApplied || patch.State == program.StateSkipped && added {
		return
	}
	i := slices.IndexFunc(f.rule.Program.Patches, func(p *program.Patch) bool { return p.ID == patch.ID })
	n := nodeOfKind(Patch, f.rule.Program.Patches[i].GVK).of(f.rule.Name, patch.ID)
	switch patch.State {
	case program.StateSkipped:
		n.in(Skipped).note(FromRule, "", cmp.Or(patch.Message, "its when is false, or it has no items"))
	case program.StateWaiting:
		n.in(Waiting).note(FromRule, patch.Path, patch.Text())
	default:
		n.in(Failed).note(FromRule, patch.Path, patch.Text())
	}
	b.nodes = append(b.nodes, n)
}

// ofParent adds what the rule does with the parent itself.
func (b *branch) ofParent(f facts) {
	out := f.preview.Result
	for _, waiting := range out.StatusWaiting {
		path, text, _ := strings.Cut(waiting, ": ")
		b.say(path, text)
		b.waits = true
	}
	for _, failed := range out.StatusFailed {
		b.say(failed.Path, failed.Text())
		b.fails = true
	}
	if out.Deletion == program.DeletionOn {
		b.say("deleteWhen", "is true: the rule deletes the parent")
	}
	if f.rule.Program.Finalize != nil && f.parent.GetDeletionTimestamp() != nil && !out.Finalization.Done {
		b.say("finalize", out.Finalization.Waits)
		b.fails = b.fails || out.Finalization.Failed
	}
}
