package apply

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

// NameConflictError reports that an object with the child's name exists and is not ours. Kanon never writes to it.
type NameConflictError struct {
	// Ref is the object, with its UID.
	Ref mark.Ref
	// OwnedBy describes the owner: its controller, the rule and parent that it was created for, or its field
	// managers.
	OwnedBy string
	// Free is the object, as read from the API server, if neither a controller nor a rule claims it, so that
	// Writer.Adopt may take it over; else nil.
	Free *unstructured.Unstructured
	// Returns is true if Free is an orphan of the owner that renders it again, so that Writer.Return may take it
	// over.
	Returns bool
}

func (e *NameConflictError) Error() string {
	message := fmt.Sprintf("%s exists already and belongs to %s; Kanon does not change it", e.Ref, e.OwnedBy)
	if e.Free != nil {
		message += ", unless the child has adopt: true"
	}
	return message
}

// TerminatingError reports that the child's name is still in use by an object that is being deleted, or that belongs
// to an earlier parent of the same name. The caller waits until it is gone.
type TerminatingError struct {
	// Ref is the object, with its UID.
	Ref mark.Ref
	// Reason says what the caller waits for.
	Reason string
}

func (e *TerminatingError) Error() string {
	return fmt.Sprintf("%s %s", e.Ref, e.Reason)
}

// NamespaceMissingError reports that a child cannot be created because its namespace does not exist. The caller waits
// for it.
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

// ReplacedError reports that the object last seen is gone, or that another one has its name. The caller reads it
// again; this error alone is no reason to create it.
type ReplacedError struct {
	// Ref is the object last seen, with its UID.
	Ref mark.Ref
	// Err is the API server's answer.
	Err error
}

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("%s with UID %s has changed or is gone: %v", e.Ref, e.Ref.UID, e.Err)
}

func (e *ReplacedError) Unwrap() error { return e.Err }

// OwnerReferenceLostError reports that a child has lost its ownerReference to its parent since the caller saw it. The
// reference was not restored: the caller reads the parent first, see Child.RestoresController.
type OwnerReferenceLostError struct {
	// Live is the child, as read from the API server.
	Live *unstructured.Unstructured
}

func (e *OwnerReferenceLostError) Error() string {
	return fmt.Sprintf("%s has lost its ownerReference", mark.RefOf(e.Live))
}

// InvalidError reports that the rendered object is refused, and will be until the rule, its input or the kind's
// schema changes: because of unknown fields, wrong types, duplicate keys in a list, or invalid values.
type InvalidError struct {
	// Ref is the child, without a UID.
	Ref mark.Ref
	// Err says what is wrong and, if known, at which path.
	Err error
	// Fields are the fields of a Secret that are not base64: the API server refuses such an object without naming
	// them.
	Fields []string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s is not valid: %v", e.Ref, e.Err)
}

func (e *InvalidError) Unwrap() error { return e.Err }

// ImmutableError is the cause of an *InvalidError if the API server refuses the change, and not the resulting object:
// a new object may be accepted, see Writer.WouldCreate.
type ImmutableError struct {
	// Live is the object that cannot be changed, as last seen.
	Live *unstructured.Unstructured
	// Err is the API server's answer.
	Err error
}

// Error returns the API server's answer. If it quotes large values, only the fields are named: the template of a Job
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

// Fields returns the fields that the API server does not allow to be changed.
func (e *ImmutableError) Fields() []string { return ImmutableFields(e.Err) }

// IsReplaced reports whether a write was refused because the object is gone, was replaced, or has another
// resourceVersion.
func IsReplaced(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || WrongUID(err)
}

// OfTarget wraps the API server's error err for a write to an object last seen as ref. It returns a *ReplacedError,
// an *InvalidError, or an error that begins with verb and is worth a retry; nil if err is nil.
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

// invalidBase64 returns the fields of a Secret's data that are not base64, sorted. The API server's answer quotes a
// part of such a value, but does not name its field.
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

// FieldConflictError reports that another manager keeps a field.
type FieldConflictError struct {
	// Ref is the object.
	Ref mark.Ref
	// Path is the field, and Manager its owner.
	Path, Manager string
	// Why is the reason, for people.
	Why string
}

func (e *FieldConflictError) Error() string {
	return fmt.Sprintf("%s: %s has another value, of field manager %s; %s", e.Ref, e.Path, e.Manager, e.Why)
}

// OfObject wraps the API server's error err for the creation of an object. It returns an *InvalidError, a
// *NamespaceMissingError, or an error that begins with verb and is worth a retry.
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
