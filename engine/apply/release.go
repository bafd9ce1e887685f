package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// conflictBackoff bounds the writes that conflict with other writers: five in half a second, which outlasts what a
// built-in controller writes after a change. Who writes more often than that has the caller try again later.
func conflictBackoff() wait.Backoff {
	return wait.Backoff{Steps: 5, Duration: 10 * time.Millisecond, Factor: 3, Jitter: 0.2}
}

// release prepares an apply that may drop fields. An apply removes a field that left the template only when the previous
// *apply* had it and nobody else owns it. But the POST that created the child left an Update entry of ours, which owns
// those fields too and would keep them. So when the set of paths changes, what our Update entry holds moves to our Apply
// entry, in managedFields itself, guarded by the resourceVersion; only the ownerReference stays, see applyTied. What the policy ignores does not move, and leaves our
// Apply entry: nobody else may have it, and the apply would remove it.
//
// The API server folds the oldest Update entries into one of the manager ancient-changes when there are more than ten;
// ours may be among them. Which of its paths were ours is not recorded. Those that our Apply entry has (so they have the
// value that we wrote) and that are no longer rendered are taken out of it; all others stay as they are, and a field
// that left the template may then remain.
//
// The result is the newest knowledge of the object, to which the apply goes.
func (w *Writer) release(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (newest *unstructured.Unstructured, err error) {
	last, ok := recorded(live)
	if ok && last.paths == child.fingerprint.paths && !child.holdsIgnored(live) {
		return live, nil
	}
	if entries, err := child.releasedEntries(live); err != nil || entries == nil {
		return live, err
	}
	err = retry.RetryOnConflict(conflictBackoff(), func() error {
		newest, err = w.moveOwnership(ctx, gvr, child, live)
		return err
	})
	if apierrors.IsConflict(err) {
		return nil, fmt.Errorf("rewrite managedFields of %s: %w", child.Ref, err)
	}
	return newest, err
}

// moveOwnership rewrites managedFields of the object as it is now, once, and returns it. A conflict is returned as it is.
func (w *Writer) moveOwnership(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	fresh, err := w.getSame(ctx, gvr, live)
	if err != nil {
		return nil, err
	}
	if err := child.refuse(fresh); err != nil {
		return nil, err
	}
	entries, err := child.releasedEntries(fresh)
	if err != nil || entries == nil {
		return fresh, err
	}
	patch, err := managedFieldsPatch(fresh, entries)
	if err != nil {
		return nil, err
	}
	moved, err := w.resource(gvr, child.Ref.Namespace).Patch(ctx, child.Ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: Manager})
	switch {
	case err == nil:
		logr.FromContextOrDiscard(ctx).V(2).Info("moved ownership to the apply entry", "child", child.Ref)
		return moved, nil
	case apierrors.IsConflict(err):
		return nil, err
	case apierrors.IsNotFound(err):
		return nil, &ReplacedError{Ref: RefOf(live), Err: err}
	default:
		return nil, fmt.Errorf("rewrite managedFields of %s: %w", child.Ref, err)
	}
}

// managedFieldsPatch replaces managedFields of an object at exactly its resourceVersion.
func managedFieldsPatch(obj *unstructured.Unstructured, entries []any) ([]byte, error) {
	patch, err := json.Marshal([]operation{
		{Op: "replace", Path: "/metadata/managedFields", Value: entries},
		// replace and not test: a difference is then a 409 that can be told from other refusals
		{Op: "replace", Path: "/metadata/resourceVersion", Value: obj.GetResourceVersion()},
	})
	if err != nil {
		return nil, fmt.Errorf("encode managedFields of %s: %w", RefOf(obj), err)
	}
	return patch, nil
}

// releasedEntries returns managedFields of obj with our Update entries moved into our Apply entry, with what is ignored
// taken out of that, and with what should go taken out of ancient-changes; nil when there is nothing to move.
func (d *Desired) releasedEntries(obj *unstructured.Unstructured) ([]any, error) {
	entries := entriesOf(obj)
	base, applied, err := d.baseEntry(entries)
	if err != nil {
		return nil, fmt.Errorf("read managedFields of %s: %w", d.Ref, err)
	}
	if base < 0 {
		return nil, nil
	}
	paths, err := d.pathSet()
	if err != nil {
		return nil, err
	}
	kept := d.withoutIgnored(applied)
	r := release{version: entries[base].apiVersion, gone: gone(kept, paths), tie: d.tie, union: kept, changed: !kept.Equals(applied)}
	for i, e := range entries {
		if i == base && e.operation == operationApply {
			continue // added at the end, with the union
		}
		if err := r.add(e); err != nil {
			return nil, fmt.Errorf("rewrite managedFields of %s: %w", d.Ref, err)
		}
	}
	if !r.changed {
		return nil, nil
	}
	item, err := withFields(entries[base], d.withoutIgnored(r.union))
	if err != nil {
		return nil, fmt.Errorf("rewrite managedFields of %s: %w", d.Ref, err)
	}
	item["operation"] = operationApply
	return append(r.items, item), nil
}

// release is a rewrite of managedFields in the making.
type release struct {
	version string
	gone    gonePaths
	// tie parts the paths of our Update entries into those that stay there and those that move.
	tie func(*fieldpath.Set) (tie, others *fieldpath.Set)
	// union is what our Apply entry will hold.
	union *fieldpath.Set
	// items are the other entries, rewritten where they must be.
	items   []any
	changed bool
}

// add takes one entry into account.
func (r *release) add(e entry) error {
	switch {
	case e.ours() && e.operation == operationUpdate:
		return r.addUpdate(e)
	case e.ancient() && e.apiVersion == r.version:
		item, taken, err := r.gone.takeFrom(e)
		if err != nil {
			return err
		}
		r.changed = r.changed || taken
		if item != nil {
			r.items = append(r.items, item)
		}
	default:
		r.items = append(r.items, e.item())
	}
	return nil
}

// addUpdate takes an Update entry of ours into account.
func (r *release) addUpdate(e entry) error {
	set, err := e.fields()
	if err != nil {
		return err
	}
	tie, others := r.tie(set)
	if !tie.Empty() {
		item, err := withFields(e, tie)
		if err != nil {
			return err
		}
		r.items = append(r.items, item)
	}
	r.changed = r.changed || !others.Empty()
	if e.apiVersion == r.version {
		r.union = r.union.Union(others)
	} // paths of another version cannot be added to those of this one; they end up with no owner, and stay
	return nil
}

// baseEntry is the index of the entry that becomes our Apply entry, and what it has applied: our Apply entry itself, else
// our Update entry in the rendered apiVersion, else any of ours; -1 when we have none.
func (d *Desired) baseEntry(entries []entry) (int, *fieldpath.Set, error) {
	base := -1
	for i, e := range entries {
		switch {
		case !e.ours():
		case e.operation == operationApply:
			set, err := e.fields()
			return i, set, err
		case base < 0 || e.apiVersion == d.Object.GetAPIVersion():
			base = i
		}
	}
	return base, &fieldpath.Set{}, nil
}

// gonePaths are paths that were applied last and are rendered no more.
type gonePaths struct {
	// fields go one by one; items of lists go with all that is in them, which is what an item's end means.
	fields, items *fieldpath.Set
}

// gone computes what the last apply had and what is rendered now lacks. A path is left out when something is still rendered below it.
func gone(applied, rendered *fieldpath.Set) gonePaths {
	paths := gonePaths{fields: &fieldpath.Set{}, items: &fieldpath.Set{}}
	applied.Difference(rendered).Iterate(func(path fieldpath.Path) {
		last := path[len(path)-1]
		switch {
		case hasBelow(rendered, path):
		case last.Key != nil || last.Value != nil:
			paths.items.Insert(path.Copy())
		default:
			paths.fields.Insert(path.Copy())
		}
	})
	return paths
}

// takeFrom returns an entry's item without these paths (nil when nothing is left), and whether it had any.
func (g gonePaths) takeFrom(e entry) (item map[string]any, taken bool, err error) {
	set, err := e.fields()
	if err != nil {
		return nil, false, err
	}
	left := set.Difference(g.fields).RecursiveDifference(g.items)
	if left.Equals(set) {
		return e.item(), false, nil
	}
	if left.Empty() {
		return nil, true, nil
	}
	item, err = withFields(e, left)
	return item, true, err
}

// withFields copies an entry's item with other paths.
func withFields(e entry, set *fieldpath.Set) (map[string]any, error) {
	text, err := set.ToJSON()
	if err != nil {
		return nil, err
	}
	item := maps.Clone(e.raw)
	item["fieldsV1"] = json.RawMessage(text)
	return item, nil
}
