package patching

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// Part returns the part for what a parent sets. object has apiVersion, kind and the fields; it is not changed.
//
// The error is a *apply.InvalidError if the fields do not fit the kind's schema; any other error is worth a retry.
func (w *Writer) Part(ctx context.Context, object *unstructured.Unstructured) (*Part, error) {
	return apply.ByNewestSchema(ctx, w.server, object, mark.RefOf(object), func() (*Part, error) {
		gvk := object.GroupVersionKind()
		kind, err := w.server.Kind(ctx, gvk)
		if err != nil {
			return nil, err
		}
		return NewPart(kind, kind.Normalise(object, w.server.HasStatus(gvk)))
	})
}

// Writer compares and writes patches. It is safe for concurrent use.
type Writer struct {
	server   *apply.API
	reserved apply.Reserved
	// seed is the seed for hashing the state of patches.
	seed maphash.Seed

	mu sync.Mutex
	// known has the last writes by the UID of a target and by manager. Guarded by mu.
	known map[types.UID]map[string]written
}

// NewWriter returns a Writer that never writes to reserved objects.
func NewWriter(to *apply.API, r apply.Reserved) *Writer {
	return &Writer{server: to, reserved: r, seed: maphash.MakeSeed(), known: map[types.UID]map[string]written{}}
}

// Patch is what one manager is to set in an object.
type Patch struct {
	// GVR is the resource of the object.
	GVR schema.GroupVersionResource
	// Object is the newest known state of the object; read-only.
	Object *unstructured.Unstructured
	// Manager is the field manager, see fieldset.PatchManager.
	Manager string
	// Content is what is to be set. nil: nothing, so that everything the manager ever set is relinquished.
	Content *Part
	// Refuse leaves fields alone that other managers own with other values.
	Refuse bool
	// Keeps returns the reason why a manager keeps a field, regardless of Refuse; empty if a patch may take it. nil:
	// all may be taken.
	Keeps func(manager string) string
}

// Sync brings what a patch sets in an object up to date. If it is in place, Sync sends no request; otherwise one
// apply. Before the first apply that takes a field with another value, that value is recorded in the object
// (AnnotationTaken), by a request of its own. A recorded value is restored before the apply that relinquishes its
// field, so that the field never falls back to a default in between.
//
// The error is a *apply.ReplacedError if the object is gone, was replaced, or has changed meanwhile (read it
// again); a *apply.FieldConflictError if a field must not be taken; and a *apply.InvalidError if the API server
// refuses the result. Any other error is worth a retry.
func (w *Writer) Sync(ctx context.Context, p Patch) (live *unstructured.Unstructured, written bool, err error) {
	if err := w.mayWrite(p); err != nil {
		return nil, false, err
	}
	before := p.Object
	if p.Object, err = w.syncSharedList(ctx, p); err != nil {
		return nil, false, err
	}
	held, _ := PatchEntry(p.Object, p.Manager)
	nothing := held == nil && (p.Content == nil || p.Content.Paths.Empty())
	if held == nil {
		held = &fieldpath.Set{}
	}
	if !nothing && w.inSync(p, held) {
		return p.Object, p.Object != before, nil
	}
	if p.Object, err = w.restore(ctx, p, held); err != nil {
		return nil, false, err
	}
	if nothing { // what was recorded for an apply that never happened is restored now, and not one day
		return p.Object, p.Object != before, nil
	}
	if p.Content != nil {
		if p.Object, err = w.recordPrevious(ctx, p, held); err != nil {
			return nil, false, err
		}
	}
	version := ""
	if p.Content != nil && !p.Content.Paths.Difference(held).Empty() {
		version = p.Object.GetResourceVersion() // take exactly what was recorded
	}
	answer, err := w.apply(ctx, p, version)
	if err != nil {
		return nil, false, err
	}
	w.remember(p, answer)
	return answer, true, nil
}

// apply sends one server-side apply to exactly the object seen, which it never creates. With a version, it applies
// only to that resourceVersion.
func (w *Writer) apply(ctx context.Context, p Patch, version string) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(p.Object)
	content := map[string]any{}
	if p.Content != nil {
		content = maps.Clone(p.Content.AsObject())
	}
	metadata, _ := content["metadata"].(map[string]any)
	if metadata = maps.Clone(metadata); metadata == nil {
		metadata = map[string]any{}
	}
	metadata["name"], metadata["uid"] = ref.Name, string(ref.UID)
	if ref.Namespace != "" {
		metadata["namespace"] = ref.Namespace
	}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	content["apiVersion"], content["kind"], content["metadata"] = p.Object.GetAPIVersion(), p.Object.GetKind(), metadata
	answer, err := w.server.Apply(ctx, p.GVR, ref, apply.Strict(p.Manager, !p.Refuse || p.Content == nil), content)
	if err != nil {
		return nil, apply.OfTarget("patch", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("patched", "object", ref.String(), "manager", p.Manager)
	return answer, nil
}

// mayWrite returns an error for a patch of an object that no rule may write.
func (w *Writer) mayWrite(p Patch) error {
	if p.Content == nil {
		return nil // the patch is relinquished
	}
	if err := w.reserved.Check(p.Object); err != nil {
		return err
	}
	return w.reserved.CheckRef(mark.RefOf(p.Object), p.Content.Label)
}

// MayWrite returns an error for an object that no rule may write, whatever the rule is.
func (w *Writer) MayWrite(live *unstructured.Unstructured) error { return w.reserved.Check(live) }

// MayContribute returns an error for a part that no rule may set in a target, whatever the target's state is. part is
// nil if the contribution is unknown.
func (w *Writer) MayContribute(kind schema.GroupKind, target types.NamespacedName, part *Part) error {
	return w.reserved.CheckRef(mark.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: target.Namespace, Name: target.Name}, part.Label)
}

// conflictWith returns an error if one of a field's owners keeps it; nil if the patch may change it.
func (p Patch) conflictWith(owners []string, path fieldpath.Path) error {
	for _, owner := range owners {
		if why := p.refuses(owner); why != "" {
			return &apply.FieldConflictError{Ref: mark.RefOf(p.Object), Path: fieldset.PathText(path), Manager: owner, Why: why}
		}
	}
	return nil
}

// otherOwners returns the field managers of a field of the target, apart from the patch.
func (p Patch) otherOwners(path fieldpath.Path) []string {
	return slices.DeleteFunc(OwnersOf(p.Object, path), func(owner string) bool { return owner == p.Manager })
}

// refuses returns why a patch leaves a field to its owner; empty if it does not.
func (p Patch) refuses(manager string) (why string) {
	if p.Keeps != nil {
		why = p.Keeps(manager)
	}
	if why == "" && p.Refuse {
		why = "the patch has conflict: Refuse, so it does not change this"
	}
	return why
}
