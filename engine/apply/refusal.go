package apply

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PutRefused reports whether the API server refused a PUT itself, and not the resulting object: it came too late, it has a
// field that is gone from the schema, we lack the right, or the resource does not support it.
func PutRefused(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// Immutable reports whether an apply was refused because the change is not allowed, and not because the resulting
// object is invalid. The API server has no reason for that. It names the field, and either calls the change forbidden
// (ConfigMaps, StatefulSets, Pods) or the value invalid (Jobs, Services, selectors). It also calls values invalid
// that are invalid in themselves; only the text distinguishes the two. Writer.WouldCreate detects values that are
// wrongly taken for refused changes.
func Immutable(err error) bool { return len(ImmutableFields(err)) > 0 }

// ImmutableFields returns the fields that the API server does not allow to be changed.
func ImmutableFields(err error) []string {
	var fields []string
	for _, cause := range causes(err) {
		if cause.Field == "" || cause.Field == "metadata" || strings.HasPrefix(cause.Field, "metadata.") {
			continue // refusals by admission name no field, and an object created again would not change metadata either
		}
		refused := cause.Type == metav1.CauseTypeForbidden ||
			cause.Type == metav1.CauseTypeFieldValueInvalid && mentionsImmutable(cause.Message)
		if refused && !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// mentionsImmutable recognises the API server's phrases for a change that is not allowed. It reads only what follows
// the quoted value.
func mentionsImmutable(message string) bool {
	words := strings.ToLower(message[strings.LastIndex(message, ": ")+1:])
	return slices.ContainsFunc([]string{
		"immutable", "may not change", "may not be changed", "cannot change", "cannot be changed", "can not be changed",
		"must not change", "must not be changed", "self == oldself",
	}, func(phrase string) bool { return strings.Contains(words, phrase) })
}

// LacksNamespace reports whether the API server answered that a namespace does not exist.
func LacksNamespace(err error, namespace string) bool {
	details := statusOf(err).Details
	return apierrors.IsNotFound(err) && details != nil && details.Group == "" && details.Kind == "namespaces" && details.Name == namespace
}

// Permanent reports whether the API server refused the object itself: with 400 (strict decoding), 413, 422, or one of
// three internal errors that have no reason, so that only the text identifies them: an apply that does not fit the
// schema, one that does not fit the kind's Go type, and an object that is too large for etcd. The last may happen to
// the first apply of an object that was created by POST, because managedFields then contain its paths twice.
func Permanent(err error) bool {
	switch status := statusOf(err); status.Code {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	case http.StatusInternalServerError:
		return strings.Contains(status.Message, "failed to create typed patch object") ||
			strings.Contains(status.Message, "failed to convert new object") ||
			strings.Contains(status.Message, "etcdserver: request is too large")
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

// causes returns the causes that a 422 names.
func causes(err error) []metav1.StatusCause {
	status := statusOf(err)
	if status.Code != http.StatusUnprocessableEntity || status.Details == nil {
		return nil
	}
	return status.Details.Causes
}

// statusOf returns the API server's answer; the zero Status if err is none.
func statusOf(err error) metav1.Status {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return metav1.Status{}
	}
	return answer.Status()
}

// NoNewFinalizers reports whether err is a 422 on metadata.finalizers: an object that is being deleted accepts no new
// ones.
func NoNewFinalizers(err error) bool {
	return hasCause(err, "metadata.finalizers")
}

// OutOfDate reports whether writes were only too late: somebody else wrote to the objects meanwhile, or they were
// replaced. The next reconcile sees their current state. A conflict between field managers does not count, because it
// does not end by itself.
func OutOfDate(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !OutOfDate(err) })
	}
	details := statusOf(err).Details
	return apierrors.IsConflict(err) && (details == nil || !slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool { return cause.Type == metav1.CauseTypeFieldManagerConflict }))
}
