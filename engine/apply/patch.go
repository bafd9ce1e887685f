package apply

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/wire"
)

// LostPatch names the paths that a patch sets and its entry in the object does not hold, as Child.Lost; none where it is
// not known that the patch was there before.
func (w *Writer) LostPatch(p Patch) []fieldset.Contested {
	if p.Content == nil {
		return nil
	}
	held, _ := patchset.PatchEntry(p.Object, p.Manager)
	if held == nil {
		w.mu.Lock()
		_, known := w.patched[p.Object.GetUID()][p.Manager]
		w.mu.Unlock()
		if !known {
			return nil
		}
		held = &fieldpath.Set{} // the API server drops an entry that holds nothing
	}
	return fieldset.ContestedBy(p.Object, p.Content.Paths.Leaves().Difference(held), func(e fieldset.Entry) bool { return e.Manager == p.Manager })
}

// Content identifies what is rendered: it is the same for two children that are the same.
func (c *Child) Content() string { return c.fingerprint.Value }

// Part prepares what a parent sets: object has apiVersion, kind and the fields, and is not changed.
//
// The error is an *InvalidError when the fields do not fit the kind's schema; any other error is worth another try.
func (w *Writer) Part(ctx context.Context, object *unstructured.Unstructured) (*patchset.Part, error) {
	return byNewestSchema(ctx, w, object, mark.RefOf(object), func() (*patchset.Part, error) {
		gvk := object.GroupVersionKind()
		kind, err := w.kinds.load(ctx, w.schemas, gvk)
		if err != nil {
			return nil, err
		}
		return patchset.NewPart(kind, kind.Normalise(object, w.hasStatus(gvk)))
	})
}

// Patch is what one manager has to set in an object.
type Patch struct {
	// GVR is where the object is.
	GVR schema.GroupVersionResource
	// Object is the newest known state of the object; read-only.
	Object *unstructured.Unstructured
	// Manager is the field manager, see PatchManager.
	Manager string
	// Content is what is to be set; nil: nothing, so that all that the manager ever set is released.
	Content *patchset.Part
	// Refuse keeps fields that other managers have with other values as they are.
	Refuse bool
	// Keeps gives the reason why a manager keeps a field, with Refuse or without; empty where a patch may take it. nil: all may be
	// taken.
	Keeps func(manager string) string
}

// SyncPatch brings what a patch sets in an object up to date. An object in which it is in place costs no request, another
// one an apply. Before the first apply that takes a field with another value, that value is remembered in the object
// (AnnotationTaken), which costs a request of its own; and one that was recorded is restored before the apply that
// releases its field, so that the field never has a default in between.
//
// The error is a *ReplacedError when the object is gone, was replaced, or has changed since (read it again), a
// *FieldConflictError when a field is not to be taken, an *InvalidError when the API server refuses what comes out; any other
// error is worth another try.
func (w *Writer) SyncPatch(ctx context.Context, p Patch) (Result, error) {
	if err := w.reserved.checkPatch(p); err != nil {
		return Result{}, err
	}
	before := p.Object
	live, err := w.syncSharedList(ctx, p)
	if err != nil {
		return Result{}, err
	}
	p.Object = live
	held, _ := patchset.PatchEntry(p.Object, p.Manager)
	nothing := held == nil && (p.Content == nil || p.Content.Paths.Empty())
	if held == nil {
		held = &fieldpath.Set{}
	}
	if nothing {
		// What was recorded for an apply that never came must not be restored one day.
		if live, err = w.restore(ctx, p, held); err != nil {
			return Result{}, err
		}
	}
	if nothing || w.patchInSync(p, held) {
		if live != before {
			return Result{Live: live, Action: ActionApplied}, nil
		}
		return Result{Live: live, Action: ActionNone}, nil
	}
	if live, err = w.restore(ctx, p, held); err != nil {
		return Result{}, err
	}
	p.Object = live
	if p.Content != nil {
		if live, err = w.recordPrevious(ctx, p, held); err != nil {
			return Result{}, err
		}
		p.Object = live
	}
	version := ""
	if p.Content != nil && !p.Content.Paths.Difference(held).Empty() {
		version = live.GetResourceVersion() // what it takes is what was read
	}
	answer, err := w.applyPatch(ctx, p, version)
	if err != nil {
		return Result{}, err
	}
	w.rememberPatch(p, answer)
	return Result{Live: answer, Action: ActionApplied}, nil
}

// patchInSync reports whether nothing is to be done: the entry and what is set are as after the last write, or the entry
// has exactly these paths and the object these values.
func (w *Writer) patchInSync(p Patch, held *fieldpath.Set) bool {
	if p.Content == nil || held.Empty() {
		return false
	}
	state, err := w.patchState(p, p.Object)
	if err != nil {
		return false
	}
	w.mu.Lock()
	known := w.patched[p.Object.GetUID()][p.Manager]
	w.mu.Unlock()
	if known == state {
		return true
	}
	_, version := patchset.PatchEntry(p.Object, p.Manager)
	if !p.Content.IsHeldAs(version, held) || !p.Content.InPlace(p.Object) {
		return false
	}
	w.rememberPatchState(p, p.Object, state)
	return true
}

// patchState identifies the entry of the manager together with what it is to set.
func (w *Writer) patchState(p Patch, obj *unstructured.Unstructured) (uint64, error) {
	own := slices.DeleteFunc(fieldset.EntriesOf(obj), func(e fieldset.Entry) bool { return e.Manager != p.Manager })
	h := fieldset.Hasher{Seed: w.seed}
	state, err := h.Entries(own)
	if err != nil || p.Content == nil {
		return state, err
	}
	return h.Join(state, maphash.String(h.Seed, p.Content.Digest)), nil
}

func (w *Writer) rememberPatch(p Patch, answer *unstructured.Unstructured) {
	state, err := w.patchState(p, answer)
	if err != nil || p.Content == nil {
		state = 0 // nothing is known then
	}
	w.rememberPatchState(p, answer, state)
}

func (w *Writer) rememberPatchState(p Patch, obj *unstructured.Unstructured, state uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := obj.GetUID()
	if state == 0 {
		w.forgetPatchLocked(uid, p.Manager)
		return
	}
	if w.patched[uid] == nil {
		w.patched[uid] = make(map[string]uint64, 1)
	}
	w.patched[uid][p.Manager] = state
}

// ForgetPatch drops what is kept in memory of what a manager has in the object with that UID.
func (w *Writer) ForgetPatch(uid types.UID, manager string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetPatchLocked(uid, manager)
}

func (w *Writer) forgetPatchLocked(uid types.UID, manager string) {
	delete(w.patched[uid], manager)
	if len(w.patched[uid]) == 0 {
		delete(w.patched, uid)
	}
}

// ForgetPatchesOf drops what is kept in memory of the patches of a rule that has stopped: what they have in objects is then
// found out by looking.
func (w *Writer) ForgetPatchesOf(ruleID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uid, managers := range w.patched {
		for manager := range managers {
			if strings.HasPrefix(manager, patchset.ManagersOf(ruleID)) {
				w.forgetPatchLocked(uid, manager)
			}
		}
	}
}

// ForgetPatches drops what is kept in memory of an object that is gone or out of sight: what patches have in it is then found
// out by looking.
func (w *Writer) ForgetPatches(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.patched, uid)
}

// applyPatch is one server-side apply to exactly the object seen, which it never creates; with version only to that
// resourceVersion of it.
func (w *Writer) applyPatch(ctx context.Context, p Patch, version string) (*unstructured.Unstructured, error) {
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
	body, err := wire.AppendJSON(nil, content)
	if err != nil {
		return nil, fmt.Errorf("encode the patch of %s: %w", ref, err)
	}
	answer, err := w.resource(p.GVR, ref.Namespace).Patch(ctx, ref.Name, types.ApplyPatchType, body,
		strict(p.Manager, !p.Refuse || p.Content == nil))
	if err != nil {
		return nil, targetError("patch", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("patched", "object", ref.String(), "manager", p.Manager)
	return answer, nil
}
