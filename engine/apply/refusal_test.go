package apply

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func answer(code int32, message string, causes ...metav1.StatusCause) error {
	details := &metav1.StatusDetails{Causes: causes}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: message, Details: details}}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const invalid = http.StatusUnprocessableEntity
	at := func(field, message string) metav1.StatusCause {
		return metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field, Message: message}
	}
	namespaces := schema.GroupResource{Resource: "namespaces"}
	for name, test := range map[string]struct {
		err                                                  error
		permanent, immutable, uid, finalizer, put, namespace bool
	}{
		"another object has the name":  {err: answer(invalid, "", at("metadata.uid", "field is immutable")), permanent: true, uid: true},
		"a field is immutable":         {err: answer(invalid, "", at("spec.selector", "Invalid value: 1: field is immutable")), permanent: true, immutable: true},
		"a value is invalid":           {err: answer(invalid, "", at("spec.replicas", `Invalid value: "immutable": must be a number`)), permanent: true},
		"an object that is deleted":    {err: answer(invalid, "", at("metadata.finalizers", "no new finalizers")), permanent: true, finalizer: true},
		"a test of a patch failed":     {err: answer(invalid, "the server rejected our request"), permanent: true},
		"an apply of another type":     {err: answer(http.StatusInternalServerError, "failed to create typed patch object: x"), permanent: true},
		"an internal error":            {err: answer(http.StatusInternalServerError, "etcd is away")},
		"a namespace that is missing":  {err: apierrors.NewNotFound(namespaces, "a"), namespace: true},
		"an object that is missing":    {err: apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "a")},
		"no answer of the API server":  {err: errors.New("dial: refused")},
		"a conflict that has a reason": {err: apierrors.NewConflict(namespaces, "a", errors.New("x")), put: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, pair := range map[string][2]bool{
				"Permanent":       {Permanent(test.err), test.permanent},
				"Immutable":       {Immutable(test.err), test.immutable},
				"WrongUID":        {WrongUID(test.err), test.uid},
				"NoNewFinalizers": {NoNewFinalizers(test.err), test.finalizer},
				"PutRefused":      {PutRefused(test.err), test.put},
				"LacksNamespace":  {LacksNamespace(test.err, "a"), test.namespace},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s = %t, want %t", what, pair[0], pair[1])
				}
			}
		})
	}
}

func TestOutOfDate(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	late := apierrors.NewConflict(pods, "a", errors.New("the UID in the precondition differs"))
	forbidden := apierrors.NewForbidden(pods, "a", nil)
	fields := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec"}}, "conflict with somebody")
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":                       {nil, false},
		"a conflict":                    {late, true},
		"a conflict, wrapped":           {fmt.Errorf("delete pod: %w", late), true},
		"two conflicts":                 {errors.Join(late, fmt.Errorf("pod b: %w", late)), true},
		"a conflict and something else": {fmt.Errorf("delete: %w", errors.Join(late, forbidden)), false},
		"something else":                {forbidden, false},
		"a conflict of field managers":  {fields, false},
		"not of the API server":         {errors.New("conflict"), false},
	} {
		if got := OutOfDate(test.err); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
