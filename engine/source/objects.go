package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// signal reports that something changed. Several changes before it is received are one signal.
type signal chan struct{}

func (s signal) send() {
	select {
	case s <- struct{}{}:
	default: // a signal is already pending
	}
}

// handler sends the signal for each event of an informer.
func (s signal) handler() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.send() },
		UpdateFunc: func(any, any) { s.send() },
		DeleteFunc: func(any) { s.send() },
	}
}

// stored returns the object with this name and UID in an informer's store; nil if there is none.
func stored(informer cache.SharedIndexInformer, name types.NamespacedName, uid types.UID) *unstructured.Unstructured {
	item, _, _ := informer.GetStore().GetByKey(name.String()) // never fails
	if object, ok := item.(*unstructured.Unstructured); ok && object.GetUID() == uid {
		return object
	}
	return nil
}

// applyReport applies a report on an origin, and returns whether its object still exists. One that is gone or was
// replaced needs no report.
func applyReport(
	ctx context.Context, client dynamic.NamespaceableResourceInterface, origin Origin, name types.NamespacedName, object map[string]any, subresources ...string,
) (exists bool, err error) {
	patch, err := json.Marshal(object)
	if err == nil {
		force := true
		_, err = client.Namespace(name.Namespace).Patch(ctx, name.Name, types.ApplyPatchType, patch,
			metav1.PatchOptions{FieldManager: statusManager, Force: &force}, subresources...)
	}
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), refusesUID(err):
		return false, nil // the uid did not match
	case err != nil:
		return false, fmt.Errorf("report on %s: %w", origin, err)
	}
	return true, nil
}

// refusesUID reports whether the API server answered that the object of this name has another UID.
func refusesUID(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && slices.ContainsFunc(status.Status().Details.Causes,
		func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}
