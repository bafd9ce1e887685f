package livediff

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/patching"
	"kanon.dev/kanon/rules/program"
)

// This file finds the fields that a patch no longer sets. The cluster records which fields of an object a patch of the
// rule owns, but not for which parent. So these fields are compared with what all parents set there, after the
// requested parents are evaluated. The other parents are evaluated only if a field is left over.

// contributor is a parent with what its patches set.
type contributor struct {
	patches []program.PatchResult
	// unknown is why it is not known what the parent sets, so that nothing is restored; empty if it is known.
	unknown string
}

// note records what a parent sets.
func (d *Differ) note(ctx context.Context, parent *unstructured.Unstructured, idle Idle, p *preview.Preview) {
	c := contributor{patches: p.Result.Patches}
	switch {
	case idle == Terminating:
		c.patches = nil
	case idle == Suspended && (!p.Outside || d.selectedBefore(ctx, parent)):
		c.unknown = string(idle)
	case p.Unmatched != "" && p.Failed():
		c.unknown = "cannot be evaluated"
	}
	maps.Copy(d.secrets, p.Secrets)
	d.contributors[identity.Of(parent).NamespacedName] = c
}

// selectedBefore reports whether the rule in the cluster may select a parent that the compared rule does not. What it
// set for that parent before it was suspended stays.
func (d *Differ) selectedBefore(ctx context.Context, parent *unstructured.Unstructured) bool {
	if d.before == nil {
		d.before = d.selectionBefore(ctx)
	}
	return d.before(parent)
}

// selectionBefore returns a function that reports whether the rule in the cluster may select a parent. If the rule
// cannot be read, it may select any.
func (d *Differ) selectionBefore(ctx context.Context) func(*unstructured.Unstructured) bool {
	all := func(*unstructured.Unstructured) bool { return true }
	list, err := live.ListRules(ctx, d.options.Client, d.options.Namespace)
	if err != nil {
		return all
	}
	at := slices.IndexFunc(list.All, func(r *live.Rule) bool { return r.ID == d.previewer.RuleID() })
	switch {
	case at < 0:
		return func(*unstructured.Unstructured) bool { return false }
	case list.All[at].Decoded == nil && len(list.All[at].Record.Children) == 0:
		return all // its parents cannot be determined
	}
	reader := &live.Reader{Client: d.options.Client, Kinds: d.options.Kinds}
	selects, err := reader.Selector(ctx, list.All[at], metav1.NamespaceAll)
	if err != nil {
		return all
	}
	return selects
}

// Restored returns the fields that the rule's patches own and that no parent sets any more: they are removed, or get
// back their earlier values. notes tell what could not be determined. Call it after Diff of all requested parents.
func (d *Differ) Restored(ctx context.Context) (changes []Change, notes []string, err error) {
	kinds, err := d.patchedKinds(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, gvk := range kinds {
		gvr, ok := d.options.Kinds.Resource(gvk)
		if !ok {
			continue // its objects are gone with the kind
		}
		list, err := d.options.Client.Resource(gvr).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsForbidden(err):
			notes = append(notes, fmt.Sprintf("what patches no longer set in objects of kind %s is not shown, which takes the right to list them in all namespaces", gvk.Kind))
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		for i := range list.Items {
			found, err := d.restoredIn(ctx, &list.Items[i])
			if err != nil {
				return nil, nil, err
			}
			changes = append(changes, found...)
		}
	}
	d.hide(ctx, changes, d.secrets)
	return changes, append(notes, slices.Sorted(maps.Keys(d.unclear))...), nil
}

// patchedKinds returns the kinds that the rule's patches may have set fields in: those of its text and of its record.
func (d *Differ) patchedKinds(ctx context.Context) ([]schema.GroupVersionKind, error) {
	var kinds []schema.GroupVersionKind
	for _, patch := range d.options.Program.Patches {
		if patch.Target == nil {
			kinds = append(kinds, d.options.Program.Parent.GVK)
		} else {
			kinds = append(kinds, patch.GVK)
		}
	}
	stated, err := d.previewer.Record(ctx)
	for _, patch := range stated.Patches {
		kinds = append(kinds, patch.GVK())
	}
	slices.SortStableFunc(kinds, func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.GroupKind().String(), b.GroupKind().String())
	})
	return slices.CompactFunc(kinds, func(a, b schema.GroupVersionKind) bool { return a.GroupKind() == b.GroupKind() }), err
}

// restoredIn returns what would be restored in one object.
func (d *Differ) restoredIn(ctx context.Context, live *unstructured.Unstructured) ([]Change, error) {
	if live.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	var changes []Change
	for _, id := range patching.Patched(live, d.previewer.RuleID()) {
		change, err := d.restoredBy(ctx, live, id)
		if err != nil {
			return nil, fmt.Errorf("compare what patch %s has set in %s: %w", id, identity.Of(live), err)
		}
		if change != nil && !change.isEmpty() {
			changes = append(changes, *change)
		}
	}
	return changes, nil
}

// restoredBy returns what would be restored of one patch in an object; nil if nothing would be.
func (d *Differ) restoredBy(ctx context.Context, live *unstructured.Unstructured, id string) (*Change, error) {
	manager := fieldset.PatchManager(d.previewer.RuleID(), id)
	content, _, err := d.content(ctx, live, id)
	if err != nil || !hasSurplus(live, manager, content) {
		return nil, err
	}
	if err := d.evaluateOthers(ctx); err != nil {
		return nil, err
	}
	content, unknown, err := d.content(ctx, live, id)
	if err != nil || !hasSurplus(live, manager, content) {
		return nil, err
	}
	if unknown != "" { // nothing is restored
		d.unclear[fmt.Sprintf("what patch %s no longer sets is not shown, because it is not known what it sets for a parent: %s", id, unknown)] = true
		return nil, nil
	}
	kinds, err := d.previewer.Kinds()
	if err != nil {
		return nil, err
	}
	// What other parents set there is a change of theirs, and no difference here. Another manager relinquishes nothing.
	before, err := kinds.Patched(ctx, live, manager+".shown", content)
	if err != nil {
		return nil, err
	}
	after, err := kinds.Patched(ctx, live, manager, content)
	why := "patch " + id + " no longer sets all that it has set there"
	return &Change{Action: Restored, Object: live, Message: why, before: before, after: after}, err
}

// hasSurplus reports whether a manager owns something in an object that content does not have.
func hasSurplus(live *unstructured.Unstructured, manager string, content *patching.Part) bool {
	if content == nil {
		content = &patching.Part{Paths: &fieldpath.Set{}}
	}
	held, _ := patching.PatchEntry(live, manager)
	return held != nil && !held.Difference(content.Paths).Empty() || patching.PlanSharedList(live, manager, content.Shared).Removes()
}

// content merges what the evaluated parents set in an object by a patch. unknown names a parent for which that is not
// known, and why; empty if it is known for all.
func (d *Differ) content(ctx context.Context, live *unstructured.Unstructured, id string) (content *patching.Part, unknown string, err error) {
	kinds, err := d.previewer.Kinds()
	if err != nil {
		return nil, "", err
	}
	var parts []*patching.Part
	for _, parent := range slices.SortedFunc(maps.Keys(d.contributors), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }) {
		objects, doubt := d.setBy(d.contributors[parent], live, id)
		if doubt != "" && unknown == "" {
			unknown = fmt.Sprintf("%s %s %s", d.options.Program.Parent.GVK.Kind, parent, doubt)
		}
		for _, object := range objects {
			part, err := kinds.Part(ctx, object)
			if err != nil {
				return nil, "", err
			}
			parts = append(parts, part)
		}
	}
	merged, _, err := patching.Merge(parts)
	if err != nil {
		return nil, "", err
	}
	return merged, unknown, nil
}

// setBy returns what one parent sets in an object by a patch. doubt is why that may be incomplete; empty if it is
// complete.
func (d *Differ) setBy(c contributor, live *unstructured.Unstructured, id string) (objects []*unstructured.Unstructured, doubt string) {
	const waits = "waits or fails"
	doubt = c.unknown
	for _, patch := range c.patches {
		if patch.ID != id {
			continue
		}
		if patch.Unknown {
			doubt = cmp.Or(doubt, waits)
		}
		for _, contribution := range patch.Contributions {
			switch object := contribution.Object; {
			case !contribution.Target.Selects(live):
			case object == nil:
				doubt = cmp.Or(doubt, waits)
			case object.GroupVersionKind().GroupKind() == live.GroupVersionKind().GroupKind():
				objects = append(objects, object)
			}
		}
	}
	return objects, doubt
}

// evaluateOthers evaluates the parents of the rule that are not evaluated yet.
func (d *Differ) evaluateOthers(ctx context.Context) error {
	if d.evaluatedAll {
		return nil
	}
	resource, err := d.parents()
	if err != nil {
		return err
	}
	list, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list %s, which takes the right to list them in all namespaces: %w", d.options.Program.Parent.GVK.Kind, err)
	}
	for i := range list.Items {
		parent := &list.Items[i]
		if _, done := d.contributors[identity.Of(parent).NamespacedName]; done {
			continue
		}
		p, err := d.preview(ctx, parent, false)
		if err != nil {
			return err
		}
		d.note(ctx, parent, d.idle(parent), p.Preview)
	}
	d.evaluatedAll = true
	return nil
}
