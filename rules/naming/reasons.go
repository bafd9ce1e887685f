package naming

import (
	"fmt"
	"regexp"
)

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
