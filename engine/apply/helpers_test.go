package apply

import (
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/keyring"
)

// testMarks seals by the same key in all tests, which is older than any object.
func testMarks() *mark.Marks { return mark.NewMarks(testRing) }

var testRing = sync.OnceValue(func() *keyring.Keyring { return ringSince(time.Time{}) })

func ringSince(since time.Time) *keyring.Keyring {
	ring, err := keyring.Generate(since)
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
		taken    *refusal.NameConflictError
		ending   *refusal.TerminatingError
		replaced *refusal.ReplacedError
		invalid  *refusal.InvalidError
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
	case errors.As(err, new(*refusal.OwnerReferenceLostError)):
		return "untied"
	case errors.As(err, &invalid):
		return "invalid"
	default:
		return "other: " + err.Error()
	}
}
