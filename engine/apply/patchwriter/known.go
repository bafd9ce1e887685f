package patchwriter

import (
	"hash/maphash"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/patchset"
)

// Lost names the paths that a patch sets and its entry in the object does not hold, as Child.Lost; none where it is
// not known that the patch was there before.
func (w *Writer) Lost(p Patch) []fieldset.Contested {
	if p.Content == nil {
		return nil
	}
	held, _ := patchset.PatchEntry(p.Object, p.Manager)
	if held == nil {
		w.mu.Lock()
		_, remembered := w.known[p.Object.GetUID()][p.Manager]
		w.mu.Unlock()
		if !remembered {
			return nil
		}
		held = &fieldpath.Set{} // the API server drops an entry that holds nothing
	}
	return fieldset.ContestedBy(p.Object, p.Content.Paths.Leaves().Difference(held), func(e fieldset.Entry) bool { return e.Manager == p.Manager })
}

// inSync reports whether nothing is to be done: the entry and what is set are as after the last write, or the entry
// has exactly these paths and the object these values.
func (w *Writer) inSync(p Patch, held *fieldpath.Set) bool {
	if p.Content == nil || held.Empty() {
		return false
	}
	state, err := w.stateOf(p, p.Object)
	if err != nil {
		return false
	}
	w.mu.Lock()
	last := w.known[p.Object.GetUID()][p.Manager]
	w.mu.Unlock()
	if last == state {
		return true
	}
	_, version := patchset.PatchEntry(p.Object, p.Manager)
	if !p.Content.IsHeldAs(version, held) || !p.Content.InPlace(p.Object) {
		return false
	}
	w.rememberState(p, p.Object, state)
	return true
}

// stateOf identifies the entry of the manager together with what it is to set.
func (w *Writer) stateOf(p Patch, obj *unstructured.Unstructured) (uint64, error) {
	own := slices.DeleteFunc(fieldset.EntriesOf(obj), func(e fieldset.Entry) bool { return e.Manager != p.Manager })
	h := fieldset.Hasher{Seed: w.seed}
	state, err := h.Entries(own)
	if err != nil || p.Content == nil {
		return state, err
	}
	return h.Join(state, maphash.String(h.Seed, p.Content.Digest)), nil
}

func (w *Writer) remember(p Patch, answer *unstructured.Unstructured) {
	state, err := w.stateOf(p, answer)
	if err != nil || p.Content == nil {
		state = 0 // nothing is known then
	}
	w.rememberState(p, answer, state)
}

func (w *Writer) rememberState(p Patch, obj *unstructured.Unstructured, state uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := obj.GetUID()
	if state == 0 {
		w.forgetLocked(uid, p.Manager)
		return
	}
	if w.known[uid] == nil {
		w.known[uid] = make(map[string]uint64, 1)
	}
	w.known[uid][p.Manager] = state
}

// Forget drops what is kept in memory of what a manager has in the object with that UID.
func (w *Writer) Forget(uid types.UID, manager string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetLocked(uid, manager)
}

func (w *Writer) forgetLocked(uid types.UID, manager string) {
	delete(w.known[uid], manager)
	if len(w.known[uid]) == 0 {
		delete(w.known, uid)
	}
}

// ForgetRule drops what is kept in memory of the patches of a rule that has stopped: what they have in objects is then
// found out by looking.
func (w *Writer) ForgetRule(ruleID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uid, managers := range w.known {
		for manager := range managers {
			if strings.HasPrefix(manager, patchset.ManagersOf(ruleID)) {
				w.forgetLocked(uid, manager)
			}
		}
	}
}

// ForgetTarget drops what is kept in memory of an object that is gone or out of sight: what patches have in it is then found
// out by looking.
func (w *Writer) ForgetTarget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, uid)
}
