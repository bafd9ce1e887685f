package apply

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/keyring"
)

// testMarks seals by the same key in all tests.
func testMarks() *mark.Marks { return mark.NewMarks(testRing) }

var testRing = sync.OnceValue(newRing)

func newRing() *keyring.Keyring {
	ring, err := keyring.Generate()
	if err != nil {
		panic(err)
	}
	return ring
}

// controllerOf is the ownerReference that the engine adds.
func controllerOf(parent mark.Ref) *metav1.OwnerReference {
	return &references(parent)[0]
}

func references(parent mark.Ref) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: parent.Group + "/v1", Kind: parent.Kind, Name: parent.Name, UID: parent.UID,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}}
}

// with returns a changed copy.
func with(obj *unstructured.Unstructured, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	changed := obj.DeepCopy()
	change(changed)
	return changed
}

func terminating(obj *unstructured.Unstructured) {
	now := metav1.NewTime(time.Unix(1700000000, 0))
	obj.SetDeletionTimestamp(&now)
}

// class names the type of an error.
func class(err error) string {
	var (
		taken    *NameConflictError
		ending   *TerminatingError
		replaced *ReplacedError
		invalid  *InvalidError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &taken):
		return "taken"
	case errors.As(err, &ending):
		return "terminating"
	case errors.As(err, &replaced):
		return "replaced"
	case errors.As(err, new(*OwnerReferenceLostError)):
		return "untied"
	case errors.As(err, &invalid):
		return "invalid"
	default:
		return "other: " + err.Error()
	}
}

// wanted is a child of a test.
func wanted(obj *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference, policy fieldset.Policy) Wanted {
	return Wanted{GVR: resourceOf(obj), Object: obj, Owner: owner, Controller: controller, Policy: policy}
}

// inSync asks a Writer whether a prepared child is in sync.
func inSync(w *Writer, c *Child, live *unstructured.Unstructured) bool {
	return w.Compare(context.Background(), Wanted{Child: c}, SeenAs(live)) == InSync
}

// unchanged asks a Writer whether a child is in sync before it is prepared.
func unchanged(w *Writer, wanted Wanted, live *unstructured.Unstructured) bool {
	return live != nil && w.Compare(context.Background(), wanted, SeenAs(live)) == InSync
}
