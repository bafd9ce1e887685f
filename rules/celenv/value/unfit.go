package value

import "strconv"

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
