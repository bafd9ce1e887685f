package apply

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/keyring"
)

// When the key is lost, a child that is rendered gets a new mark, and none is deleted whose mark proves nothing.
func TestLostKey(t *testing.T) {
	for name, tracked := range map[string]bool{"tied": false, "tracked": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.owner.Tracked = tracked
			prepare := func() *Child {
				t.Helper()
				controller := controllerRef(w.parent)
				if tracked {
					controller = nil
				}
				c, err := w.writer.Prepare(t.Context(), wanted(w.object(configMap), w.owner, controller, fieldset.Policy{}))
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			live := w.sync(prepare(), nil, ActionCreated, "POST")
			w.ring = newRing()
			if _, ok := w.writer.Marks.OwnerOf(live); ok {
				t.Fatal("the mark proves something under another key")
			}
			if err := w.writer.Delete(t.Context(), resourceOf(live), live); err == nil || w.isGone(live) {
				t.Errorf("Delete: %v, gone %t", err, w.isGone(live))
			}
			again := prepare()
			live = w.sync(again, nil, ActionApplied, "POST GET PUT")
			if !w.writer.Marks.Owns(live, w.owner.RuleID, w.owner.Parent.UID) {
				t.Errorf("the mark is %v", live.GetAnnotations())
			}
			w.settled(again)
		})
	}
}

// After a rotation each child is written to once, when it is next looked at.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	live := w.sync(w.child(deployment), nil, ActionCreated, "POST")
	if !w.unchanged(live) {
		t.Fatal("it is not in sync at a glance")
	}
	before := w.ring
	w.ring = rotated(t, before)
	if w.unchanged(live) {
		t.Error("it counts as unchanged, with a mark that is sealed by an old key")
	}
	if !w.writer.Marks.Owns(live, w.owner.RuleID, w.owner.Parent.UID) {
		t.Error("an old key proves nothing any more")
	}
	c := w.child(deployment)
	w.sync(c, w.get(c.Object), ActionApplied, "PUT")
	w.settled(c)
}

// A tenant gives an object of their own all that a child of somebody else's parent has.
func TestForgedMark(t *testing.T) {
	w := newWorld(t)
	w.owner.Tracked = true
	c, err := w.writer.Prepare(t.Context(), wanted(w.object(configMap), w.owner, nil, fieldset.Policy{}))
	if err != nil {
		t.Fatal(err)
	}
	victim := w.sync(c, nil, ActionCreated, "POST")
	forged := w.object(strings.Replace(configMap, "child", "forged", 1))
	forged.SetLabels(victim.GetLabels())
	forged.SetAnnotations(victim.GetAnnotations())
	made, err := w.client(forged).Create(t.Context(), forged, metav1.CreateOptions{FieldManager: fieldset.Manager})
	if err != nil {
		t.Fatal(err)
	}
	if owner, ok := w.writer.Marks.OwnerOf(made); ok {
		t.Errorf("it counts as a child of %v", owner)
	}
	if err := w.writer.Delete(t.Context(), resourceOf(made), made); err == nil || w.isGone(made) {
		t.Errorf("Delete: %v, gone %t", err, w.isGone(made))
	}
	if free, err := w.writer.Orphan(t.Context(), resourceOf(made), made, w.owner); err != nil || free != nil {
		t.Errorf("Orphan: %v, %v", free, err)
	}
	if err := w.writer.DeleteToRecreate(t.Context(), resourceOf(made), made, w.owner, metav1.DeletePropagationForeground); err == nil || w.isGone(made) {
		t.Errorf("DeleteToRecreate: %v, gone %t", err, w.isGone(made))
	}
}

// rotated is a ring with a key more, which seals.
func rotated(t *testing.T, ring *keyring.Keyring) *keyring.Keyring {
	t.Helper()
	next, err := ring.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// isGone tells whether the object is not there any more.
func (w *world) isGone(obj *unstructured.Unstructured) bool {
	w.t.Helper()
	_, err := w.client(obj).Get(w.t.Context(), obj.GetName(), metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// What marks cost at each write is bounded: their text, and the paths of it that the API server records.
func TestMarksAreShort(t *testing.T) {
	for name, tt := range map[string]struct {
		tracked bool
		most    int
	}{"tied": {false, 200}, "tracked": {true, 350}} {
		owner := testOwner()
		owner.Parent.UID, owner.Tracked = "0b5c4f6e-8a0d-4e9b-9c55-3f1f7f3a2b10", tt.tracked
		controller := controllerOf(owner.Parent)
		if tt.tracked {
			controller = nil
		}
		w := offline(t)
		c, err := w.Prepare(t.Context(), wanted(object(t, rendered), owner, controller, fieldset.Policy{}))
		if err != nil {
			t.Fatal(err)
		}
		if size := marksSize(c.Object); size > tt.most {
			t.Errorf("the marks of a %s child take %d bytes, want %d at the most", name, size, tt.most)
		}
	}
}

// marksSize is how many bytes the labels and annotations of an object take, in the object and as paths in managedFields.
func marksSize(obj *unstructured.Unstructured) (size int) {
	for _, entries := range []map[string]string{obj.GetLabels(), obj.GetAnnotations()} {
		for key, value := range entries {
			size += len(`"":"",`) + len(key) + len(value)
			size += len(`"f:":{},`) + len(key)
		}
	}
	return size
}
