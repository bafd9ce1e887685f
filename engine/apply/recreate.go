package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// A child is recreated in steps, each taken once the previous one has succeeded: a dry run shows that the new object
// would be accepted (WouldCreate), the old one is deleted (DeleteToRecreate), the name becomes free (until then Sync
// returns a *TerminatingError), and Sync creates the new one.

// WouldCreate asks the API server whether it would accept the child if live did not exist; nil means yes. It changes
// nothing: it is a dry run of the POST under the child's own name. The API server checks last whether the name is
// taken, after defaults, validation and admission, so that refusal means that there is no other. A quota counts live
// as well.
func (w *Writer) WouldCreate(ctx context.Context, child *Child, live *unstructured.Unstructured) error {
	object := WithoutAllocated(child.ForCreation(), live)
	_, err := w.Server.Resource(child.GVR, child.Ref.Namespace).Create(ctx, object, metav1.CreateOptions{
		FieldManager:    fieldset.Manager,
		FieldValidation: metav1.FieldValidationStrict,
		DryRun:          []string{metav1.DryRunAll},
	})
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return OfObject("try to create", child.Object, err)
}

// WithoutAllocated returns a copy of an object that is to replace live. For a Service, the cluster's addresses and
// ports that live has are removed, because they cannot be allocated again while live exists.
func WithoutAllocated(object, live *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	if gvk := object.GroupVersionKind(); gvk.Group != "" || gvk.Kind != "Service" {
		return object
	}
	wanted, _ := object.Object["spec"].(map[string]any)
	held, _ := live.Object["spec"].(map[string]any)
	if wanted["clusterIP"] != nil && wanted["clusterIP"] == held["clusterIP"] && wanted["clusterIP"] != "None" {
		delete(wanted, "clusterIP")
		delete(wanted, "clusterIPs")
	}
	if wanted["healthCheckNodePort"] == held["healthCheckNodePort"] {
		delete(wanted, "healthCheckNodePort")
	}
	ports, _ := wanted["ports"].([]any)
	heldPorts, _ := held["ports"].([]any)
	for _, port := range ports {
		wanted, _ := port.(map[string]any)
		if slices.ContainsFunc(heldPorts, func(port any) bool {
			held, _ := port.(map[string]any)
			return held["nodePort"] == wanted["nodePort"]
		}) {
			delete(wanted, "nodePort")
		}
	}
	return object
}

// DeleteToRecreate deletes a child that is to be recreated, in exactly the version seen. propagation says what happens to
// its dependents: in the foreground they are deleted first, so that nothing of the old child is left when the new one is
// created. Only a child of the owner's rule and parent is deleted.
//
// A *ReplacedError means that the object is gone or has changed; the caller reads it again.
func (w *Writer) DeleteToRecreate(
	ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured, owner mark.Owner, propagation metav1.DeletionPropagation,
) error {
	if !w.Marks.Owns(live, owner.RuleID, owner.Parent.UID) {
		return fmt.Errorf("delete %s: it is not proven to be a child", mark.RefOf(live))
	}
	err := w.deleteExactly(ctx, gvr, live, propagation)
	if apierrors.IsConflict(err) {
		return &ReplacedError{Ref: mark.RefOf(live), Err: err}
	}
	if err == nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("deleted to be recreated", "child", mark.RefOf(live), "uid", live.GetUID())
	}
	return err
}

// TerminatingNow returns the error for a child that was just deleted to be recreated: the one that Sync returns until
// the old object is gone.
func TerminatingNow(live *unstructured.Unstructured) *TerminatingError {
	return &TerminatingError{Ref: mark.RefOf(live), Reason: Terminating(live)}
}
