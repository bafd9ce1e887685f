package memory

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// delete deletes an object. An object with finalizers stays until they are removed.
func (a *API) delete(r request, name types.NamespacedName, options metav1.DeleteOptions) error {
	at := ref{r.kind.GVR.GroupResource(), name}
	object := a.Find(r.kind.GVR, name.Namespace, name.Name)
	if object == nil {
		return apierrors.NewNotFound(at.GroupResource, name.Name)
	}
	if p := options.Preconditions; p != nil && (p.UID != nil && *p.UID != object.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != object.GetResourceVersion()) {
		return apierrors.NewConflict(at.GroupResource, name.Name, errors.New("the object is not the one that is to be deleted"))
	}
	action, foreground := Deleted, options.PropagationPolicy != nil && *options.PropagationPolicy == metav1.DeletePropagationForeground
	if foreground {
		action = Recreated
	}
	a.Writes = append(a.Writes, Write{action, r.manager, object})
	if foreground && a.immediate {
		a.store(at, nil)
		return nil
	}
	a.mark(at, foreground)
	a.collect()
	return nil
}

// mark records that an object is being deleted.
func (a *API) mark(at ref, foreground bool) {
	object := a.objects[at]
	if object.GetDeletionTimestamp() != nil {
		return
	}
	object = object.DeepCopy()
	now := metav1.NewTime(a.now())
	object.SetDeletionTimestamp(&now)
	if foreground && len(a.dependents(object.GetUID())) > 0 {
		object.SetFinalizers(append(object.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	if len(object.GetFinalizers()) > 0 {
		a.store(at, object)
	} else {
		a.objects[at] = object // it is removed at once, without an event in between
	}
}

// dependents lists the objects that refer to an owner, by kind, namespace and name.
func (a *API) dependents(owner types.UID) []ref {
	var found []ref
	for _, object := range a.All() {
		if kind, err := a.kindOf(object); err == nil && slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner }) {
			found = append(found, refOf(kind, object))
		}
	}
	return found
}

// collect removes the objects that are being deleted and that nothing keeps, and deletes what depends on them.
func (a *API) collect() {
	for {
		at, object := a.removable()
		if object == nil {
			return
		}
		dependents := a.dependents(object.GetUID())
		for _, dependent := range dependents {
			if other := a.objects[dependent]; other.GetDeletionTimestamp() == nil && !a.isOwned(other, object.GetUID()) {
				a.Writes = append(a.Writes, Write{Deleted, "", other})
				a.mark(dependent, false)
			}
		}
		if finalizers := object.GetFinalizers(); len(finalizers) > 0 { // that of a deletion in the foreground
			if len(dependents) == 0 {
				object = object.DeepCopy()
				object.SetFinalizers(nil)
				a.objects[at] = object
				continue
			}
			return // until its dependents are gone
		}
		a.Writes = append(a.Writes, Write{Removed, "", object})
		a.store(at, nil)
	}
}

// removable returns an object that is being deleted and that nothing keeps but its dependents; nil if there is none.
func (a *API) removable() (ref, *unstructured.Unstructured) {
	for _, object := range a.All() {
		finalizers := object.GetFinalizers()
		waits := len(finalizers) == 1 && finalizers[0] == metav1.FinalizerDeleteDependents
		if object.GetDeletionTimestamp() == nil || a.asGiven[object.GetUID()] || len(finalizers) > 0 && !waits {
			continue
		}
		kind, err := a.kindOf(object)
		if err == nil && (!waits || a.mayContinue(object.GetUID())) {
			return refOf(kind, object), object
		}
	}
	return ref{}, nil
}

// mayContinue reports whether something can be done for a deletion in the foreground: some dependents are not being
// deleted yet, or none are left.
func (a *API) mayContinue(owner types.UID) bool {
	dependents := a.dependents(owner)
	return len(dependents) == 0 || slices.ContainsFunc(dependents, func(at ref) bool {
		return a.objects[at].GetDeletionTimestamp() == nil && !a.isOwned(a.objects[at], owner)
	})
}

// isOwned reports whether an object has another owner than one, and that exists.
func (a *API) isOwned(object *unstructured.Unstructured, but types.UID) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.UID != but && slices.ContainsFunc(a.All(), func(o *unstructured.Unstructured) bool { return o.GetUID() == r.UID })
	})
}
