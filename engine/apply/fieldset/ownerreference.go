package fieldset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/mark"
)

// While a parent is deleted with orphaning, the garbage collector takes the ownerReferences from its children. An apply that
// brings one back, because it was on its way or came of older knowledge, lets the garbage collector take the child next. So
// an apply has no say in it: the POST of a child leaves the reference in an Update entry of ours, where it stays, and an
// apply that does not mention what our Apply entry never had changes nothing of it. A JSON patch that replaces values
// brings nothing back either.
//
// A child that was adopted, or that got its reference back, has it in our Apply entry, and loses it with the first apply
// that does not mention it. Such a child is applied in exactly the version that was seen; one that was seen without a
// reference only after the caller has read the parent.

// referencesPath leads to the ownerReferences of an object.
func referencesPath() fieldpath.Path { return fieldpath.MakePathOrDie("metadata", "ownerReferences") }

// ReferenceHeldByUpdate reports whether it is an Update entry of ours in live, and no other of ours, that has the reference.
func (d *Desired) ReferenceHeldByUpdate(live *unstructured.Unstructured) bool {
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

// splitReference parts an Update entry's paths into the reference, which stays where it is, and all others.
func (d *Desired) splitReference(paths *fieldpath.Set) (tie, others *fieldpath.Set) {
	if controller, _ := d.onlyController(); controller == "" {
		return &fieldpath.Set{}, paths
	}
	others = paths.RecursiveDifference(fieldpath.NewSet(referencesPath()))
	return paths.Difference(others), others
}

// RestoresController reports whether bringing live up to date would give it a controller ownerReference that it does not
// have. Before that, the caller reads the parent from the API server: a reference restored while the parent is being
// deleted with orphaning lets the garbage collector take the child.
func (d *Desired) RestoresController(live *unstructured.Unstructured) bool {
	wanted := metav1.GetControllerOfNoCopy(d.Object)
	if wanted == nil || live == nil {
		return false
	}
	return !mark.RefersTo(live, wanted.UID)
}

// LosesController reports whether an object was seen with the ownerReference that the child wants, and has lost it since.
func (d *Desired) LosesController(seen, newest *unstructured.Unstructured) bool {
	return d.RestoresController(newest) && !d.RestoresController(seen)
}
