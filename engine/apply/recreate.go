package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A child is made anew in steps, each of which is taken when the one before is seen to have worked: a dry run shows that
// the new object would be accepted (WouldCreate), the old one is deleted in the foreground (DeleteInForeground), its end
// is awaited (Sync says that the name is taken by an object on its way out), and then there is nothing, which Sync makes.

// isImmutable says whether an apply was refused because of what the object is, and not because of what it would be. The
// API server has no reason of its own for that. It names the field, and either calls the change forbidden (ConfigMaps,
// StatefulSets, Pods) or the value invalid (Jobs, Services, selectors), which it also says of values that are invalid in
// themselves: then only the words tell. What is wrongly taken for a refused change here is found by WouldCreate.
func isImmutable(err error) bool { return len(immutableFields(err)) > 0 }

// immutableFields are those of which the API server refuses a change.
func immutableFields(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "" || cause.Field == "metadata" || strings.HasPrefix(cause.Field, "metadata.") {
			continue // admission has no field; and what metadata lets nobody change, a new object does not change either
		}
		refused := cause.Type == metav1.CauseTypeForbidden ||
			cause.Type == metav1.CauseTypeFieldValueInvalid && saysImmutable(cause.Message)
		if refused && !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// saysImmutable reads the API server's words for a change that it does not allow, after the value that it quotes.
func saysImmutable(message string) bool {
	words := strings.ToLower(message[strings.LastIndex(message, ": ")+1:])
	return slices.ContainsFunc([]string{
		"immutable", "may not change", "may not be changed", "cannot change", "cannot be changed", "can not be changed",
		"must not change", "must not be changed", "self == oldself",
	}, func(phrase string) bool { return strings.Contains(words, phrase) })
}

// WouldCreate asks the API server whether it would accept the child if live were not there; nil means yes. Nothing is
// changed. It is a dry run of the POST under the child's own name: that the name is taken is found last, after defaults,
// validation and admission, so this refusal says that there is no other. A quota counts live as well.
func (w *Writer) WouldCreate(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) error {
	object := child.creation().DeepCopy()
	dropHeld(object, live)
	_, err := w.resource(gvr, child.Ref.Namespace).Create(ctx, object, metav1.CreateOptions{
		FieldManager:    Manager,
		FieldValidation: metav1.FieldValidationStrict,
		DryRun:          []string{metav1.DryRunAll},
	})
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return child.writeError("try to create", err)
}

// dropHeld takes out of a Service what live holds of the cluster's addresses and ports, which nobody else can be given
// as long as live is there.
func dropHeld(object, live *unstructured.Unstructured) {
	if gvk := object.GroupVersionKind(); gvk.Group != "" || gvk.Kind != "Service" {
		return
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
}

// DeleteInForeground deletes a child that is to be made anew, in exactly the version seen: what it owns goes first, so
// that nothing of the old one is left when the new one comes. Only what ruleID made for parentUID is deleted.
//
// A *ReplacedError says that the object is gone or not as it was seen; the caller looks again.
func (w *Writer) DeleteInForeground(ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured, owner Owner) error {
	if !w.marks.Owns(live, owner.RuleID, owner.Parent.UID) {
		return fmt.Errorf("delete %s: it is not shown to be ours", RefOf(live))
	}
	err := w.deleteExactly(ctx, gvr, live, metav1.DeletePropagationForeground)
	if apierrors.IsConflict(err) {
		return &ReplacedError{Ref: RefOf(live), Err: err}
	}
	if err == nil {
		logr.FromContextOrDiscard(ctx).V(2).Info("deleted to be made anew", "child", RefOf(live), "uid", live.GetUID())
	}
	return err
}

// Leaving is the error for a child that has just been deleted to be made anew: it is the one that Sync gives while the old
// object is on its way out.
func Leaving(live *unstructured.Unstructured) *TerminatingError {
	return &TerminatingError{Ref: RefOf(live), Reason: Terminating(live)}
}
