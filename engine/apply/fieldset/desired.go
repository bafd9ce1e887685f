package fieldset

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
)

// Desired is an object as it should be, of which the schema of its kind is known. It is compared with the live object by
// the paths that our entries in managedFields hold.
type Desired struct {
	// Object is what is applied, without what is ignored. Read-only.
	Object *unstructured.Unstructured
	// Ref names the object, without a UID.
	Ref mark.Ref
	// Ignore are the fields that are set when what holds them is created, and left to others from then on.
	Ignore []Path

	kind Kind
	// whole is the normalised object with what is ignored, without marks; nil where nothing is ignored.
	Whole map[string]any
	// shape is what the rendered paths decide, and controller the UID that it leaves open; empty where that is none.
	shape      *shape
	controller string
}

// NewDesired makes a Desired of an object in its normal form. The error is that the object does not fit its schema, or
// that what is ignored cannot be told apart in it.
func NewDesired(kind Kind, normalised *unstructured.Unstructured, ignore []Path) (*Desired, error) {
	d := &Desired{Object: normalised, Ref: mark.RefOf(normalised), Ignore: ignore, kind: kind}
	return d, d.split()
}
