package apply

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
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

// tiedPath leads to the ownerReferences of an object.
func tiedPath() fieldpath.Path { return fieldpath.MakePathOrDie("metadata", "ownerReferences") }

// ties says whether the child's ownerReference to its parent is the only one that it wants.
func (d *Desired) ties() bool {
	references, _, _ := unstructured.NestedSlice(d.Object.Object, "metadata", "ownerReferences")
	return len(references) == 1 && metav1.GetControllerOfNoCopy(d.Object) != nil
}

// tiedByUpdate says whether it is an Update entry of ours in live, and no other of ours, that has the reference.
func (d *Desired) tiedByUpdate(live *unstructured.Unstructured) bool {
	if !d.ties() {
		return false
	}
	controller := metav1.GetControllerOfNoCopy(d.Object)
	item := referencePath(string(controller.UID))
	updated := false
	for _, e := range ownEntries(live) {
		fields, err := e.fields()
		switch {
		case err != nil, e.operation == operationApply && (fields.Has(item) || fields.Has(tiedPath())):
			return false
		case e.operation == operationUpdate && fields.Has(item):
			updated = true
		}
	}
	return updated
}

// tie parts an Update entry's paths into the reference, which stays where it is, and all others.
func (d *Desired) tie(paths *fieldpath.Set) (tie, others *fieldpath.Set) {
	if !d.ties() {
		return &fieldpath.Set{}, paths
	}
	others = paths.RecursiveDifference(fieldpath.NewSet(tiedPath()))
	return paths.Difference(others), others
}

// applyTied is apply of a child that is there, without its ownerReference where that needs no apply, and with it in exactly
// the version seen. One that has changed since is then read, and applied to if it has its reference still. The error is an
// *UntiedError where it turns out to have none.
func (w *Writer) applyTied(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if metav1.GetControllerOfNoCopy(child.Object) == nil {
		return w.apply(ctx, gvr, child, live, child.onlyVersion(live))
	}
	if child.tiedByUpdate(live) {
		tied := *child
		tied.omitsReference = true
		answer, err := w.apply(ctx, gvr, &tied, live, child.onlyVersion(live))
		if err == nil && child.RestoresController(answer) {
			return nil, &UntiedError{Live: answer}
		}
		return answer, err
	}
	var answer *unstructured.Unstructured
	newest := live
	err := retry.RetryOnConflict(conflictBackoff(), func() (err error) {
		if newest == nil {
			if newest, err = w.getTied(ctx, gvr, child, live); err != nil {
				return err
			}
			if answer = newest; w.InSync(ctx, child, newest) {
				return nil
			}
			if err = child.generatedElsewhere(newest); err != nil {
				return err
			}
		}
		answer, err = w.applyOnce(ctx, gvr, child, newest, newest.GetResourceVersion())
		if err != nil && !apierrors.IsConflict(err) {
			return w.applyError(ctx, gvr, child, newest, err)
		}
		newest = nil
		return err
	})
	if apierrors.IsConflict(err) {
		return nil, child.writeError("apply", err)
	}
	return answer, err
}

// getTied reads a child again that was seen as live, to write to it.
func (w *Writer) getTied(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	newest, err := w.getSame(ctx, gvr, live)
	if err != nil {
		return nil, err
	}
	if err := child.refuse(newest); err != nil {
		return nil, err
	}
	if child.unties(live, newest) {
		return nil, &UntiedError{Live: newest}
	}
	return newest, nil
}

// RestoresController says whether bringing live up to date would give it a controller ownerReference that it does not
// have. Before that, the caller reads the parent from the API server: a reference restored while the parent is being
// deleted with orphaning lets the garbage collector take the child.
func (d *Desired) RestoresController(live *unstructured.Unstructured) bool {
	wanted := metav1.GetControllerOfNoCopy(d.Object)
	if wanted == nil || live == nil {
		return false
	}
	return !Refers(live, wanted)
}

// Refers says whether obj has an ownerReference to the object that wanted refers to.
func Refers(obj *unstructured.Unstructured, wanted *metav1.OwnerReference) bool {
	return RefersTo(obj, wanted.UID)
}

// RefersTo says whether obj has an ownerReference to the object with that UID.
func RefersTo(obj *unstructured.Unstructured, uid types.UID) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(have metav1.OwnerReference) bool { return have.UID == uid })
}

// unties says whether an object was seen with the ownerReference that the child wants, and has lost it since.
func (d *Desired) unties(seen, newest *unstructured.Unstructured) bool {
	return d.RestoresController(newest) && !d.RestoresController(seen)
}
