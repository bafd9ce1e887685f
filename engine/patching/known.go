package patching

import (
	"hash/maphash"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// Lost returns the paths that a patch sets and its entry in the object lacks, as Child.Lost does. It returns none if
// it is unknown whether the patch was applied before.
func (w *Writer) Lost(p Patch) []fieldset.Contested {
	if p.Content == nil {
		return nil
	}
	held, _ := PatchEntry(p.Object, p.Manager)
	if held == nil {
		if w.lastWrite(p) == (written{}) {
			return nil
		}
		held = &fieldpath.Set{} // the API server drops empty entries
	}
	return fieldset.ContestedBy(p.Object, p.Content.Paths.Leaves().Difference(held), func(e fieldset.Entry) bool { return e.Manager == p.Manager })
}

// written is what is known of the last write of a manager.
type written struct {
	// state is a hash of the manager's entry and content, and content one of the content.
	state, content uint64
}

// lastWrite returns what is known of the last write of a patch; zero if nothing is.
func (w *Writer) lastWrite(p Patch) written {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[p.Object.GetUID()][p.Manager]
}

// isRepeated reports whether the last write of a patch had the same content. A field that the patch lacks since then was
// taken from it.
func (w *Writer) isRepeated(p Patch) bool {
	last := w.lastWrite(p)
	return last != (written{}) && p.Content != nil && last.content == w.contentOf(p)
}

func (w *Writer) contentOf(p Patch) uint64 { return maphash.String(w.seed, p.Content.Digest) }

// inSync reports whether there is nothing to do: the entry and the content are as after the last write, or the entry
// has exactly the content's paths and the object its values.
func (w *Writer) inSync(p Patch, held *fieldpath.Set) bool {
	if p.Content == nil || held.Empty() {
		return false
	}
	state, err := w.stateOf(p, p.Object)
	if err != nil {
		return false
	}
	if w.lastWrite(p).state == state {
		return true
	}
	_, version := PatchEntry(p.Object, p.Manager)
	if !p.Content.IsOwnedAs(version, held) || !p.Content.InPlace(p.Object) {
		return false
	}
	w.rememberState(p, p.Object, state)
	return true
}

// stateOf returns a hash of the manager's entry and content.
func (w *Writer) stateOf(p Patch, obj *unstructured.Unstructured) (uint64, error) {
	own := slices.DeleteFunc(fieldset.EntriesOf(obj), func(e fieldset.Entry) bool { return e.Manager != p.Manager })
	h := fieldset.Hasher{Seed: w.seed}
	state, err := h.Entries(own)
	if err != nil || p.Content == nil {
		return state, err
	}
	return h.Join(state, w.contentOf(p)), nil
}

func (w *Writer) remember(p Patch, answer *unstructured.Unstructured) {
	state, err := w.stateOf(p, answer)
	if err != nil || p.Content == nil {
		state = 0 // the state is unknown
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
		w.known[uid] = make(map[string]written, 1)
	}
	w.known[uid][p.Manager] = written{state, w.contentOf(p)}
}

// Forget drops the state of a manager in the object with this UID.
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

// ForgetRule drops the state of the patches of a stopped rule. If the rule comes back, their objects are compared
// again.
func (w *Writer) ForgetRule(ruleID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uid, managers := range w.known {
		for manager := range managers {
			if strings.HasPrefix(manager, fieldset.PatchManagersOf(ruleID)) {
				w.forgetLocked(uid, manager)
			}
		}
	}
}

// ForgetTarget drops the state of an object that is gone or out of view. If it comes back, it is compared again.
func (w *Writer) ForgetTarget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, uid)
}
