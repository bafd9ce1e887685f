package syntax

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// IsPathSegment returns what is wrong with the name of an object of any kind. Most kinds have a stricter rule.
func IsPathSegment(name string) []string { return content.IsPathSegmentName(name) }

// NamesOfKind returns what the API server asks of the names of a kind, as a function that returns what is wrong with a name. Most kinds, and
// all custom ones, have DNS subdomains: at most 253 lower case letters, digits, - and dots.
func NamesOfKind(kind schema.GroupKind) func(name string) []string {
	switch {
	case kind == schema.GroupKind{Kind: "Service"}, kind == schema.GroupKind{Kind: "Namespace"}:
		return validation.IsDNS1123Label
	case kind.Group == "rbac.authorization.k8s.io":
		return IsPathSegment
	}
	return validation.IsDNS1123Subdomain
}

const (
	// MaxConditionReason is the limit of metav1.Condition for a reason, in bytes.
	MaxConditionReason = 1024
	// MaxEventReason is the limit of the API server for the reason of an Event, in bytes.
	MaxEventReason = 128
)

// validReason is what metav1.Condition allows.
var validReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// WrongReason says what is wrong with a reason that may have so many bytes. It is empty for a valid one.
func WrongReason(s string, longest int) string {
	switch {
	case len(s) > longest:
		return fmt.Sprintf("must have at most %d characters", longest)
	case !validReason.MatchString(s):
		return "must be one word of letters, digits and _ that begins with a letter"
	}
	return ""
}
