package refusal

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// NameConflictError says that an object of the child's name exists and is not ours. It is never touched.
type NameConflictError struct {
	// Ref is the object, with its UID.
	Ref mark.Ref
	// OwnedBy tells who owns it: its controller, the rule and parent that made it, or its field managers.
	OwnedBy string
	// Free is the object where neither a controller nor a rule claims it, so that Writer.Adopt may take it over; else nil.
	// It was read from the API server.
	Free *unstructured.Unstructured
	// Returns is true where Free is an orphan of the owner that wants it again, so that Writer.Return may take it over.
	Returns bool
}

func (e *NameConflictError) Error() string {
	message := fmt.Sprintf("%s exists already and belongs to %s; Kanon does not change it", e.Ref, e.OwnedBy)
	if e.Free != nil {
		message += ", unless the child has adopt: true"
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
	return "the API server does not allow a change of " + strings.Join(fields, ", ")
}

func (e *ImmutableError) Unwrap() error { return e.Err }

// Fields are those of which the API server refuses a change.
func (e *ImmutableError) Fields() []string { return ImmutableFields(e.Err) }

// IsReplaced reports whether the API server refused a write because the object is not the one, or not in the version, that it was for.
func IsReplaced(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || WrongUID(err)
}

// OfTarget is the error for a write to an object last seen as ref that the API server answered with err, nil for none: a
// *ReplacedError, an *InvalidError, or one that is worth another try and begins with verb.
func OfTarget(verb string, ref mark.Ref, err error) error {
	switch {
	case err == nil:
		return nil
	case IsReplaced(err):
		return &ReplacedError{Ref: ref, Err: err}
	case Permanent(err):
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

// FieldConflictError says that another manager keeps a field.
type FieldConflictError struct {
	// Ref is the object.
	Ref mark.Ref
	// Path is the field, and Manager who has it.
	Path, Manager string
	// Why is the reason.
	Why string
}

func (e *FieldConflictError) Error() string {
	return fmt.Sprintf("%s: %s has another value, of field manager %s; %s", e.Ref, e.Path, e.Manager, e.Why)
}

// OfObject tells permanent refusals of an object, an *InvalidError and a *NamespaceMissingError, from errors that are worth another
// try, which begin with verb.
func OfObject(verb string, object *unstructured.Unstructured, err error) error {
	ref := mark.RefOf(object)
	ref.UID = ""
	switch {
	case LacksNamespace(err, ref.Namespace):
		return &NamespaceMissingError{Ref: ref, Err: err}
	case Permanent(err):
		return &InvalidError{Ref: ref, Err: err, Fields: invalidBase64(object)}
	default:
		return fmt.Errorf("%s %s: %w", verb, ref, err)
	}
}
