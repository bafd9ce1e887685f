package apply

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// requestRefused says whether the API server refused a PUT for what it is, and not for the object that comes out, or for
// reasons of its own: it came too late, it has a field that is gone from the schema, we have no right to it, or the
// resource does not know it.
func requestRefused(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// testFailed says whether the API server refused a JSON patch as such: because of a test, or because of a path that is not
// there. A refusal of the object that comes out names causes.
func testFailed(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity {
		return false
	}
	details := status.Status().Details
	return details == nil || len(details.Causes) == 0
}

// NameConflictError says that an object of the child's name exists and is not ours. It is never touched.
type NameConflictError struct {
	// Ref is the object, with its UID.
	Ref mark.Ref
	// OwnedBy tells who owns it: its controller, the rule and parent that made it, or its field managers.
	OwnedBy string
	// Free is the object where neither a controller nor a rule claims it, so that Writer.Adopt may take it over; else nil.
	// It was read from the API server.
	Free *unstructured.Unstructured
	// Returns is true where Free was let go by the owner that wants it again, so that Writer.Return may take it back.
	Returns bool
}

func (e *NameConflictError) Error() string {
	message := fmt.Sprintf("%s exists already and belongs to %s; it is left alone", e.Ref, e.OwnedBy)
	if e.Free != nil {
		message += ", unless the child says adopt: true"
	}
	return message
}

// TerminatingError says that the child's name is still in use by an object that is on its way out: one that is being
// deleted, or one made for an earlier parent of the same name. The caller waits for its end.
type TerminatingError struct {
	// Ref is the object, with its UID.
	Ref mark.Ref
	// Reason is what is being waited for.
	Reason string
}

func (e *TerminatingError) Error() string {
	return fmt.Sprintf("%s %s", e.Ref, e.Reason)
}

// NamespaceMissingError says that a child cannot be created because its namespace does not exist. The caller waits for it.
type NamespaceMissingError struct {
	// Ref is the child, without a UID.
	Ref mark.Ref
	// Err is the API server's answer.
	Err error
}

func (e *NamespaceMissingError) Error() string {
	return fmt.Sprintf("%s cannot be created: namespace %q does not exist", e.Ref, e.Ref.Namespace)
}

func (e *NamespaceMissingError) Unwrap() error { return e.Err }

// ReplacedError says that the object last seen is gone, or that another one has its name. The caller reads again; it
// does not create on the strength of this error.
type ReplacedError struct {
	// Ref is the object last seen, with its UID.
	Ref mark.Ref
	// Err is the API server's answer.
	Err error
}

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("%s with UID %s is gone or was replaced: %v", e.Ref, e.Ref.UID, e.Err)
}

func (e *ReplacedError) Unwrap() error { return e.Err }

// OwnerReferenceLostError says that a child has no ownerReference to its parent, and that the caller has not seen it so yet. It was not
// given one: the caller reads the parent first, see Child.RestoresController.
type OwnerReferenceLostError struct {
	// Live is the child, as it was read from the API server.
	Live *unstructured.Unstructured
}

func (e *OwnerReferenceLostError) Error() string {
	return fmt.Sprintf("%s has lost its ownerReference", mark.RefOf(e.Live))
}

// InvalidError says that the rendered object is refused and will be as long as it stays as it is: unknown fields, wrong
// types, duplicate keys in a list, values that do not validate. Nothing but a change of the rule, of its input or of the
// kind's schema helps.
type InvalidError struct {
	// Ref is the child, without a UID.
	Ref mark.Ref
	// Err says what is wrong and, where known, under which path.
	Err error
	// Fields are the fields of a Secret that hold no base64: the API server refuses such an object, and names none.
	Fields []string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s is not valid: %v", e.Ref, e.Err)
}

func (e *InvalidError) Unwrap() error { return e.Err }

// ImmutableError is the cause of an *InvalidError where the API server refuses the change, and not what the object would
// be: it may be accepted as a new object, see Writer.WouldCreate.
type ImmutableError struct {
	// Live is the object that cannot be changed, as it was seen.
	Live *unstructured.Unstructured
	// Err is the API server's answer.
	Err error
}

// Error is the API server's answer, or the fields alone where the answer has their whole values: that of a Job's template
// would hide what to do about it.
func (e *ImmutableError) Error() string {
	const readable = 300 // bytes
	text, fields := e.Err.Error(), e.Fields()
	if len(text) <= readable || len(fields) == 0 {
		return text
	}
	return "the API server lets nobody change " + strings.Join(fields, ", ")
}

func (e *ImmutableError) Unwrap() error { return e.Err }

// Fields are those of which the API server refuses a change.
func (e *ImmutableError) Fields() []string { return immutableFields(e.Err) }

// refusal is the error for a write to an object last seen as ref that the API server answered with err, nil for none: a
// *ReplacedError, an *InvalidError, or one that is worth another try and begins with verb.
func refusal(verb string, ref mark.Ref, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), wrongUID(err):
		return &ReplacedError{Ref: ref, Err: err}
	case permanent(err):
		return &InvalidError{Ref: ref, Err: err}
	default:
		return fmt.Errorf("%s %s: %w", verb, ref, err)
	}
}

// invalidBase64 lists the fields of a Secret's data that are not base64, sorted. The API server says of one that it cannot read it,
// and quotes a part of it, and does not say which field it is.
func invalidBase64(obj *unstructured.Unstructured) []string {
	if !fieldset.IsSecret(obj) {
		return nil
	}
	data, _ := obj.Object["data"].(map[string]any)
	var fields []string
	for name, value := range data {
		text, isText := value.(string)
		if _, err := base64.StdEncoding.DecodeString(text); err != nil || !isText && value != nil {
			fields = append(fields, "data."+name)
		}
	}
	slices.Sort(fields)
	return fields
}

// FieldConflictError says that a field is not taken from another manager.
type FieldConflictError struct {
	// Ref is the object.
	Ref mark.Ref
	// Path is the field, and Manager who has it.
	Path, Manager string
	// Why says why it is not taken.
	Why string
}

func (e *FieldConflictError) Error() string {
	return fmt.Sprintf("%s: %s has another value, of field manager %s; %s", e.Ref, e.Path, e.Manager, e.Why)
}

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

// writeError tells permanent refusals from those that are worth another try.
func (c *Child) writeError(verb string, err error) error {
	switch {
	case lacksNamespace(err, c.Ref.Namespace):
		return &NamespaceMissingError{Ref: c.Ref, Err: err}
	case permanent(err):
		return &InvalidError{Ref: c.Ref, Err: err, Fields: invalidBase64(c.Object)}
	default:
		return fmt.Errorf("%s %s: %w", verb, c.Ref, err)
	}
}

// lacksNamespace tells whether the API server answered that a namespace does not exist.
func lacksNamespace(err error, namespace string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Group == "" && details.Kind == "namespaces" && details.Name == namespace
}

// permanent says whether the API server refused the object itself: 400 (strict decoding), 413, 422, or one of the three
// refusals that the server answers as internal errors, without a reason, so that only the text tells them: an apply that
// does not fit the schema, or not the kind's Go type, and an object that etcd does not take. The last may come with the first apply of an object
// whose POST was taken, because managedFields then hold its paths twice.
func permanent(err error) bool {
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

// wrongUID says whether err is a 422 on metadata.uid: another object has the name.
func wrongUID(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}
