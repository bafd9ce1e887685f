package apply

import (
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/keyring"
)

// formerChild is a child in the cluster as Kanon wrote it before marks were sealed.
func (w *world) formerChild(c *Child) *unstructured.Unstructured {
	w.t.Helper()
	former, err := w.writer.asFormer(c)
	if err != nil {
		w.t.Fatal(err)
	}
	live, err := w.client(former.Object).Create(w.t.Context(), former.ForCreation(), metav1.CreateOptions{FieldManager: fieldset.Manager})
	if err != nil {
		w.t.Fatal(err)
	}
	return live
}

// unsealed has the keys be younger than all objects that there are, as they are after an upgrade.
func (w *world) unsealed() { w.ring = ringSince(time.Now().Add(time.Minute)) }

const formerDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: child}
spec:
  replicas: 0
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: web, image: "a:1"}]}
`

// An upgrade writes to no child that refers to its parent: with a former mark it is in sync as it is. When something else of
// it changes it gets the mark that it would have now, and costs no apply then or later. A tracked one gets that at once.
func TestFormerMark(t *testing.T) {
	for name, tracked := range map[string]bool{"tied": false, "tracked": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.unsealed()
			w.owner.Tracked = tracked
			prepare := func(text string) *Child {
				t.Helper()
				controller := controllerRef(w.parent)
				if tracked {
					controller = nil
				}
				c, err := w.writer.Prepare(t.Context(), w.object(text), w.owner, controller, fieldset.Policy{})
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			c := prepare(formerDeployment)
			w.formerChild(c)
			live := w.get(c.Object)
			owner, proven := w.writer.Marks.OwnerOf(live)
			if proven == tracked || owner != w.owner {
				t.Fatalf("a former mark is read as %+v, and proves that: %t", owner, proven)
			}
			if tracked {
				// Nothing but the mark is written: it could be anybody's.
				w.sync(c, live, ActionApplied, "PATCH")
				w.settled(c)
				return
			}
			w.settled(c)
			live = w.get(c.Object)
			w.requests.take()
			if result, err := w.writer.Claim(t.Context(), resourceOf(live), live, w.owner, controllerRef(w.parent)); err != nil || result.Action != ActionNone {
				t.Fatalf("Claim: %v, %v", result.Action, err)
			}

			// Where the Deployment's controller writes in between, a JSON patch follows the PUT that was refused.
			applies := func(c *Child, live *unstructured.Unstructured, requests string) *unstructured.Unstructured {
				t.Helper()
				w.requests.take()
				result, err := w.trySync(c, live)
				if sent := w.requests.take(); err != nil || result.Action != ActionApplied || sent != requests && sent != requests+" JSONPATCH" {
					t.Fatalf("Sync: %s by %q, %v; want applied by %q", result.Action, sent, err, requests)
				}
				return result.Live
			}
			changed := prepare(strings.Replace(formerDeployment, "a:1", "a:2", 1))
			live = applies(changed, live, "PATCH PUT")
			if !w.writer.Marks.Owns(live, w.owner.RuleID, w.owner.Parent.UID) || mark.IsFormer(live) {
				t.Errorf("the mark is %v", live.GetAnnotations())
			}
			for _, gone := range []string{mark.LabelNode} {
				if _, ok := live.GetLabels()[gone]; ok {
					t.Errorf("label %s is still there", gone)
				}
			}
			if _, ok := live.GetAnnotations()[mark.AnnotationOwner]; ok {
				t.Error("the owner annotation is still there")
			}
			w.settled(changed)
			applies(prepare(strings.Replace(formerDeployment, "a:1", "a:3", 1)), w.get(c.Object), "PUT")
		})
	}
}

// With another set of paths it is applied, and what was of the former mark goes.
func TestFormerMarkAndOtherPaths(t *testing.T) {
	w := newWorld(t)
	w.unsealed()
	w.formerChild(w.child(configMap))
	changed := w.child(strings.Replace(configMap, ", b: two", "", 1))
	if _, err := w.trySync(changed, w.get(changed.Object)); err != nil {
		t.Fatal(err)
	}
	live := w.get(changed.Object)
	if data, _ := fieldValue(live, "data").(map[string]any); len(data) != 1 || len(live.GetLabels()) != 1 || len(live.GetAnnotations()) != 1 {
		t.Errorf("it has data %v, labels %v and annotations %v", data, live.GetLabels(), live.GetAnnotations())
	}
	w.settled(changed)
}

// Nobody can make up a former mark once there are keys.
func TestFormerMarkThatIsTooYoung(t *testing.T) {
	w := newWorld(t)
	w.ring = ringSince(time.Now().Add(-time.Hour))
	tracked := w.owner
	tracked.Tracked = true
	c, err := w.writer.Prepare(t.Context(), w.object(configMap), tracked, nil, fieldset.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	former, err := w.writer.asFormer(c)
	if err != nil {
		t.Fatal(err)
	}
	live, err := w.client(former.Object).Create(t.Context(), former.ForCreation(), metav1.CreateOptions{FieldManager: "tenant"})
	if err != nil {
		t.Fatal(err)
	}
	if owner, ok := w.writer.Marks.OwnerOf(live); ok {
		t.Errorf("it counts as a child of %v", owner)
	}
	if err := w.writer.Delete(t.Context(), resourceOf(live), live); err == nil {
		t.Error("it would have been deleted")
	}
	w.fails(c, live, "taken", "")
}

// An object that is older than the first key, and that somebody has given a former mark, proves nothing: not that it is
// tracked, and not that it is the child of a parent in another namespace or in none.
func TestFormerMarkOnAnOldObject(t *testing.T) {
	marks := mark.NewMarks(sync.OnceValue(func() *keyring.Keyring { return ringSince(time.Now()) }))
	for name, tt := range map[string]struct {
		change func(*mark.Owner)
		refer  bool
		want   bool
	}{
		"tied":                          {func(*mark.Owner) {}, true, true},
		"tied, without its reference":   {func(*mark.Owner) {}, false, false},
		"tracked":                       {func(o *mark.Owner) { o.Tracked = true }, false, false},
		"tracked, with a reference":     {func(o *mark.Owner) { o.Tracked = true }, true, false},
		"of a parent elsewhere":         {func(o *mark.Owner) { o.Parent.Namespace = "victims" }, true, false},
		"of a parent without namespace": {func(o *mark.Owner) { o.Parent.Namespace = "" }, true, false},
	} {
		owner := testOwner()
		tt.change(&owner)
		controller := controllerOf(owner.Parent)
		if !tt.refer {
			controller = nil
		}
		w := offline(t)
		c, err := w.Prepare(t.Context(), object(t, rendered), owner, controller, fieldset.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		former, err := w.asFormer(c)
		if err != nil {
			t.Fatal(err)
		}
		old := with(former.Object, func(obj *unstructured.Unstructured) { obj.SetCreationTimestamp(metav1.Unix(0, 0)) })
		if got := marks.Owns(old, owner.RuleID, owner.Parent.UID); got != tt.want {
			t.Errorf("%s: proves that it is a child: %t, want %t", name, got, tt.want)
		}
	}
}

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
				c, err := w.writer.Prepare(t.Context(), w.object(configMap), w.owner, controller, fieldset.Policy{})
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			live := w.sync(prepare(), nil, ActionCreated, "POST")
			w.ring = ringSince(time.Now().Add(-time.Hour))
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
	c, err := w.writer.Prepare(t.Context(), w.object(configMap), w.owner, nil, fieldset.Policy{})
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
	if err := w.writer.DeleteInForeground(t.Context(), resourceOf(made), made, w.owner); err == nil || w.isGone(made) {
		t.Errorf("DeleteInForeground: %v, gone %t", err, w.isGone(made))
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
		c, err := w.Prepare(t.Context(), object(t, rendered), owner, controller, fieldset.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		former, err := w.asFormer(c)
		if err != nil {
			t.Fatal(err)
		}
		size, before := marksSize(c.Object), marksSize(former.Object)
		t.Logf("%s: %d bytes, formerly %d: %v", name, size, before, c.Object.GetAnnotations())
		if size > tt.most {
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
