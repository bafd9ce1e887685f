package diagnostic

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spanOf is how many characters a finding is about: those of the first name that its message quotes, if the line has it at the
// column, which counts from 1. Else it is 0.
func spanOf(text string, column int, message string) int {
	rest := from(text, column)
	if rest == "" {
		return 0
	}
	quoted, err := strconv.QuotedPrefix(message[max(strings.IndexByte(message, '"'), 0):])
	if err != nil {
		return 0
	}
	name, err := strconv.Unquote(quoted)
	if err != nil || name == "" || strings.Contains(name, "\n") {
		return 0
	}
	length := utf8.RuneCountInString(name)
	switch quote := rest[:1]; {
	case strings.HasPrefix(rest, name) && endsWord(name, rest[len(name):]):
		return length
	case (quote == `"` || quote == "'") && strings.HasPrefix(rest[1:], name+quote):
		return length + 2
	default:
		return 0
	}
}

// from is the text from a column on, which counts from 1.
func from(text string, column int) string {
	for n := 1; n < column; n++ {
		_, size := utf8.DecodeRuneInString(text)
		if size == 0 {
			return ""
		}
		text = text[size:]
	}
	return text
}

// endsWord reports whether a name ends before the rest of its line: "a" is not a part of "ab".
func endsWord(name, rest string) bool {
	last, _ := utf8.DecodeLastRuneInString(name)
	next, _ := utf8.DecodeRuneInString(rest)
	return !isWord(last) || !isWord(next)
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
