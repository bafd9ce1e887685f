package naming

import (
	"fmt"

	"kanon.dev/kanon/rules/scanner"
)

const (
	// MaxConditionReason is the limit of metav1.Condition for a reason, in bytes.
	MaxConditionReason = 1024
	// MaxEventReason is the limit of the API server for the reason of an Event, in bytes.
	MaxEventReason = 128
)

// WrongReason says what is wrong with a reason that may have so many bytes. It is empty for a valid one. metav1.Condition allows
// [A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?.
func WrongReason(s string, longest int) string {
	if len(s) > longest {
		return fmt.Sprintf("must have at most %d characters", longest)
	}
	ok := s != "" && isLetter(s[0])
	for i := range len(s) {
		last := i == len(s)-1
		ok = ok && (scanner.IsNameByte(s[i]) || !last && (s[i] == ',' || s[i] == ':'))
	}
	if !ok {
		return "must be one word of letters, digits and _ that begins with a letter"
	}
	return ""
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
