package celenv

import (
	"fmt"
	"strconv"
)

// Reason says why a read failed.
type Reason int

const (
	// ReasonMissing means that the key does not exist, or is null.
	ReasonMissing Reason = iota + 1
	// ReasonIndex means that the list has no such index.
	ReasonIndex
	// ReasonType means that the type of the value has no keys, or does not take keys of that type.
	ReasonType
	// ReasonFormat means that the value is text in the wrong format; Found says what it is not.
	ReasonFormat
)

// ReadError is the error for a field or an index that could not be read.
type ReadError struct {
	// NodeID is the select or index node of the expression.
	NodeID int64
	Reason Reason
	// Key is the field or index as text.
	Key string
	// Found is the CEL type of the value that was read from. Text is the value for ReasonFormat, if it may be shown.
	Found, Text string
	// Length is the length of the list, for ReasonIndex.
	Length int
}

// Error says what could not be read.
func (e *ReadError) Error() string {
	switch e.Reason {
	case ReasonFormat:
		return "the value is " + e.Found
	case ReasonIndex:
		return fmt.Sprintf("index %s is out of range: the list has %d items", e.Key, e.Length)
	case ReasonType:
		return fmt.Sprintf("%s cannot be read from a value of type %s", e.Key, e.Found)
	default:
		return fmt.Sprintf("key %s does not exist", e.Key)
	}
}

// UnfitError is the error for text that a function such as int() cannot convert. CEL's own errors do not name the text.
type UnfitError struct {
	// Text is the argument of the function.
	Text string
	// Found says what the text is, such as "no integer".
	Found string
}

// Error quotes the text, shortened.
func (e *UnfitError) Error() string {
	const most = 80
	text := []rune(e.Text)
	if len(text) <= most {
		return strconv.Quote(e.Text) + " is " + e.Found
	}
	return strconv.Quote(string(text[:most])) + "… is " + e.Found
}

// Descriptions of text that is not a time or not a duration.
const (
	NoTime     = "no time, such as 2026-01-31T12:00:00Z"
	NoDuration = "no duration, such as 90s or 1h30m"
)
