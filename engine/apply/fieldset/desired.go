package fieldset

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
)

// Desired is an object as it should be, with the schema of its kind. It is compared with the live object by the paths
// in our entries in managedFields.
type Desired struct {
	// Object is what is applied, without ignored fields. Read-only.
	Object *unstructured.Unstructured
	// Ref identifies the object, without a UID.
	Ref mark.Ref
	// Ignore are the fields that are set when their parent is created, and left to others from then on.
	Ignore []Path

	kind Kind
	// Whole is the normalised object with ignored fields and without marks; nil if nothing is ignored.
	Whole map[string]any
	// shape is what the rendered paths determine. controller is the UID that the shape leaves out; empty if none.
	shape      *shape
	controller string
}

// NewDesired returns the Desired for an object in its normal form. It fails if the object does not fit its schema, or
// if the schema does not allow to ignore a field.
func NewDesired(kind Kind, normalised *unstructured.Unstructured, ignore []Path) (*Desired, error) {
	d := &Desired{Object: normalised, Ref: mark.RefOf(normalised), Ignore: ignore, kind: kind}
	return d, d.split()
}
