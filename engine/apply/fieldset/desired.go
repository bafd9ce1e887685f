package fieldset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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

// Policy says how a child is treated differently from the default, which is the zero value. Whatever affects the
// content must also be hashed in Writer.sourceOf.
type Policy struct {
	// Ignore are the fields that are set when their parent is created, and left to others from then on: they are not
	// applied again, do not count as drift, and are not removed.
	Ignore []Path
	// Relinquished are those of Ignore that are ignored only while a condition holds; at other times they are applied.
	Relinquished []Path
	// New are generated fields. They are set in an object that lacks them, and only in exactly the version that was
	// seen without them.
	New []Path
	// Kept are generated fields whose values were copied from the object that was seen. They replace no other value.
	Kept []Path
	// Content asks for a hash of the content in AnnotationApplied, for Outdated.
	Content bool
}

// Normalised returns the policy for an object in its normal form, in which a Secret has no stringData.
func (p Policy) Normalised(gk schema.GroupKind) Policy {
	if gk != (schema.GroupKind{Kind: "Secret"}) {
		return p
	}
	out := make([]Path, len(p.Ignore))
	for i, path := range p.Ignore {
		out[i] = path
		if path[0].Field == "stringData" {
			out[i] = append(Path{{Field: "data"}}, path[1:]...)
		}
	}
	p.Ignore = out
	return p
}

// While a parent is deleted with orphaning, the garbage collector removes the ownerReferences from its children. If
// an apply that was on its way or was based on an older state restores one, the garbage collector deletes the child
// next. So applies leave the reference alone: the POST of a child leaves it in an Update entry of ours, where it
// stays, and an apply without a field that our Apply entry never had does not change the field. Nor does a JSON patch
// that replaces values.
//
// If a child was adopted or its reference was restored, the reference is in our Apply entry, and an apply without it
// would remove it. Such a child is applied in exactly the version seen. If that version lacks the reference, the
// caller reads the parent first.

// referencesPath returns the path of an object's ownerReferences.
func referencesPath() fieldpath.Path { return fieldpath.MakePathOrDie("metadata", "ownerReferences") }

// OwnsReferenceByUpdate reports whether only an Update entry of ours in live, and no other entry of ours, has the
// reference.
func (d *Desired) OwnsReferenceByUpdate(live *unstructured.Unstructured) bool {
	controller, _ := d.onlyController()
	if controller == "" {
		return false
	}
	item, updated := referencePath(controller), false
	for _, e := range OwnEntries(live) {
		fields, err := e.Fields()
		switch {
		case err != nil, e.Operation == OperationApply && (fields.Has(item) || fields.Has(referencesPath())):
			return false
		case e.Operation == OperationUpdate && fields.Has(item):
			updated = true
		}
	}
	return updated
}

// splitReference splits an Update entry's paths into the reference, which stays, and all others.
func (d *Desired) splitReference(paths *fieldpath.Set) (tie, others *fieldpath.Set) {
	if controller, _ := d.onlyController(); controller == "" {
		return &fieldpath.Set{}, paths
	}
	others = paths.RecursiveDifference(fieldpath.NewSet(referencesPath()))
	return paths.Difference(others), others
}

// RestoresController reports whether bringing live up to date would give it a controller ownerReference that it
// lacks. Before that, the caller reads the parent from the API server: if a reference is restored while the parent is
// being deleted with orphaning, the garbage collector deletes the child.
func (d *Desired) RestoresController(live *unstructured.Unstructured) bool {
	wanted := metav1.GetControllerOfNoCopy(d.Object)
	if wanted == nil || live == nil {
		return false
	}
	return !mark.RefersTo(live, wanted.UID)
}

// LosesController reports whether an object had the child's ownerReference when it was seen, and has lost it since.
func (d *Desired) LosesController(seen, newest *unstructured.Unstructured) bool {
	return d.RestoresController(newest) && !d.RestoresController(seen)
}
