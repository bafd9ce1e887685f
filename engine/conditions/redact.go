package conditions

import (
	"errors"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/engine/apply"
)

// redactedError is an error whose text has no value of an object, for a rule that reads or writes Secrets.
type redactedError struct {
	err  error
	text string
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Unwrap() error { return e.err }

// refusedFields returns the fields that the API server refuses, each with the kind of the mistake but without its
// value.
func refusedFields(status apierrors.APIStatus, invalid *apply.InvalidError) []string {
	var fields []string
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			fields = append(fields, cause.Field+": "+string(cause.Type))
		}
	}
	if len(fields) > 0 {
		return fields
	}
	message := status.Status().Message
	// These two messages are the decoder's, which reports no causes.
	for _, found := range regexp.MustCompile(`unknown field "([^"]*)"`).FindAllStringSubmatch(message, -1) {
		fields = append(fields, found[1]+": there is no such field")
	}
	for _, found := range regexp.MustCompile(`Go struct field ([\w.]+) of type ([\w.\[\]]+)`).FindAllStringSubmatch(message, -1) {
		fields = append(fields, found[1]+": must be of type "+found[2])
	}
	if invalid != nil {
		for _, name := range invalid.Fields {
			fields = append(fields, name+": must be base64")
		}
	}
	return fields
}

// Redact returns an error without the values that it may quote: the API server quotes what it refuses, and a policy may
// write anything. It is for rules that read or write Secrets.
func Redact(err error) error {
	const why = "the message is hidden, because the rule reads or writes Secrets"
	var (
		status  apierrors.APIStatus
		invalid *apply.InvalidError
	)
	isStatus, subject := errors.As(err, &status), ""
	if errors.As(err, &invalid) {
		subject = invalid.Ref.String() + " is not valid: "
	}
	switch {
	case isStatus && (subject != "" || apierrors.IsInvalid(err)):
		fields := refusedFields(status, invalid)
		if len(fields) == 0 {
			return &redactedError{err: err, text: subject + "the API server refuses it; " + why}
		}
		return &redactedError{err: err, text: subject + strings.Join(fields, ", ") + "; " + why}
	case isStatus:
		// Those who deny add a text of their own: an admission webhook and a ValidatingAdmissionPolicy.
		if until := regexp.MustCompile(` denied (the )?request`).FindStringIndex(err.Error()); until != nil {
			return &redactedError{err: err, text: err.Error()[:until[1]] + "; " + why}
		}
	case subject != "":
		before, _, found := strings.Cut(err.Error(), ", got ")
		if found { // a type that does not fit the schema
			return &redactedError{err: err, text: before}
		}
	}
	return err
}
