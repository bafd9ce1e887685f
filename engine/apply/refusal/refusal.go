package refusal

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PutRefused reports whether the API server refused a PUT for what it is, and not for the object that comes out, or for
// reasons of its own: it came too late, it has a field that is gone from the schema, we have no right to it, or the
// resource does not know it.
func PutRefused(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// TestFailed reports whether the API server refused a JSON patch as such: because of a test, or because of a path that is not
// there. A refusal of the object that comes out names causes.
func TestFailed(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity {
		return false
	}
	details := status.Status().Details
	return details == nil || len(details.Causes) == 0
}

// Immutable reports whether an apply was refused because of what the object is, and not because of what it would be. The
// API server has no reason of its own for that. It names the field, and either calls the change forbidden (ConfigMaps,
// StatefulSets, Pods) or the value invalid (Jobs, Services, selectors), which it also says of values that are invalid in
// themselves: then only the words tell. What is wrongly taken for a refused change here is found by WouldCreate.
func Immutable(err error) bool { return len(ImmutableFields(err)) > 0 }

// ImmutableFields are those of which the API server refuses a change.
func ImmutableFields(err error) []string {
	var fields []string
	for _, cause := range causes(err) {
		if cause.Field == "" || cause.Field == "metadata" || strings.HasPrefix(cause.Field, "metadata.") {
			continue // admission has no field; and what metadata lets nobody change, a new object does not change either
		}
		refused := cause.Type == metav1.CauseTypeForbidden ||
			cause.Type == metav1.CauseTypeFieldValueInvalid && mentionsImmutable(cause.Message)
		if refused && !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// mentionsImmutable reads the API server's words for a change that it does not allow, after the value that it quotes.
func mentionsImmutable(message string) bool {
	words := strings.ToLower(message[strings.LastIndex(message, ": ")+1:])
	return slices.ContainsFunc([]string{
		"immutable", "may not change", "may not be changed", "cannot change", "cannot be changed", "can not be changed",
		"must not change", "must not be changed", "self == oldself",
	}, func(phrase string) bool { return strings.Contains(words, phrase) })
}

// LacksNamespace reports whether the API server answered that a namespace does not exist.
func LacksNamespace(err error, namespace string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Group == "" && details.Kind == "namespaces" && details.Name == namespace
}

// Permanent reports whether the API server refused the object itself: 400 (strict decoding), 413, 422, or one of the three
// refusals that the server answers as internal errors, without a reason, so that only the text tells them: an apply that
// does not fit the schema, or not the kind's Go type, and an object that etcd does not take. The last may come with the
// first apply of an object whose POST was taken, because managedFields then hold its paths twice.
func Permanent(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status().Code {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	case http.StatusInternalServerError:
		message := status.Status().Message
		return strings.Contains(message, "failed to create typed patch object") ||
			strings.Contains(message, "failed to convert new object") ||
			strings.Contains(message, "etcdserver: request is too large")
	default:
		return false
	}
}

// WrongUID reports whether err is a 422 on metadata.uid: another object has the name.
func WrongUID(err error) bool {
	return hasCause(err, "metadata.uid")
}

// hasCause reports whether err is a 422 that names a field.
func hasCause(err error, field string) bool {
	return slices.ContainsFunc(causes(err), func(cause metav1.StatusCause) bool { return cause.Field == field })
}

// causes are those that a 422 names.
func causes(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// NoNewFinalizers reports whether err is a 422 on metadata.finalizers: an object that is being deleted takes no new ones.
func NoNewFinalizers(err error) bool {
	return hasCause(err, "metadata.finalizers")
}

// OutOfDate reports whether writes came too late and nothing else is wrong: somebody else has written to the objects meanwhile, or they
// have been replaced. The next reconcile sees what they are now. A conflict between field managers does not end by itself, and is none.
func OutOfDate(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !OutOfDate(err) })
	}
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || !slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool { return cause.Type == metav1.CauseTypeFieldManagerConflict })
}
