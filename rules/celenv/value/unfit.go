package value

import "strconv"

// UnfitError is text of which a function such as int() could not make what it makes. CEL's own errors do not name the text.
type UnfitError struct {
	// Text is what was given to the function.
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

// What text is that is no time and no duration.
const (
	NoTime     = "no time, such as 2026-01-31T12:00:00Z"
	NoDuration = "no duration, such as 90s or 1h30m"
)
