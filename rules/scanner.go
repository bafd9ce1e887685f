package rules

import (
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
)

// part is a stretch of a template string: text, or an expression.
type part struct {
	expr bool
	// text is the literal text, with $${ already made ${, or the expression
	// without its braces.
	text string
	// offset is where text starts in the string, in bytes.
	offset int
	// spread is true for ${...list}; text is without the dots then.
	spread bool
}

// scanError is a template string that is not well formed.
type scanError struct {
	offset  int
	code    diagnostic.Code
	message string
	hint    string
}

// literalHint is for those who wanted no expression.
const literalHint = "write $${ for a literal ${"

// Error says what is wrong, without the place.
func (e *scanError) Error() string { return e.message }

// hasExpression says whether the string holds an expression or a literal ${.
func hasExpression(s string) bool { return strings.Contains(s, "${") }

// scan splits a template string into its parts. Neighbouring text is one part.
func scan(s string) ([]part, error) {
	var parts []part
	var text strings.Builder
	textStart := 0
	flush := func() {
		if text.Len() > 0 {
			parts = append(parts, part{text: text.String(), offset: textStart})
			text.Reset()
		}
	}
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "$${"):
			text.WriteString("${")
			i += len("$${")
		case strings.HasPrefix(s[i:], "${"):
			flush()
			end, err := expressionEnd(s, i+len("${"))
			if err != nil {
				err.offset = i
				return nil, err
			}
			p, err := expressionPart(s, i+len("${"), end)
			if err != nil {
				return nil, err
			}
			parts = append(parts, p)
			i = end + 1
			textStart = i
		default:
			text.WriteByte(s[i])
			i++
		}
	}
	flush()
	return parts, nil
}

// expressionPart is the expression s[start:end], trimmed.
func expressionPart(s string, start, end int) (part, *scanError) {
	const blank = " \t\r\n"
	body := s[start:end]
	trimmed := strings.TrimLeft(body, blank)
	p := part{expr: true, offset: start + len(body) - len(trimmed)}
	if rest, ok := strings.CutPrefix(trimmed, "..."); ok {
		p.spread = true
		p.offset += len("...") + len(rest) - len(strings.TrimLeft(rest, blank))
		trimmed = strings.TrimLeft(rest, blank)
	}
	p.text = strings.TrimRight(trimmed, blank)
	if p.text == "" {
		return part{}, &scanError{offset: start - len("${"), code: diagnostic.CodeEmptyExpression, message: "the expression is empty", hint: literalHint}
	}
	return p, nil
}

// expressionEnd finds the brace that closes the expression that starts at
// start. Strings, comments and escaped names are passed over, and braces that
// the expression opens are counted.
func expressionEnd(s string, start int) (int, *scanError) {
	depth := 0
	for i := start; i < len(s); {
		switch c := s[i]; {
		case c == '{':
			depth++
			i++
		case c == '}':
			if depth == 0 {
				return i, nil
			}
			depth--
			i++
		case c == '"' || c == '\'':
			next := stringEnd(s, i, isRaw(s, start, i))
			if next < 0 {
				return 0, &scanError{code: diagnostic.CodeNotClosed, message: "the expression is never closed, because a string in it is not"}
			}
			i = next
		case c == '`':
			end := strings.IndexByte(s[i+1:], '`')
			if end < 0 {
				return 0, &scanError{code: diagnostic.CodeNotClosed, message: "the expression is never closed, because a ` in it is not"}
			}
			i += end + 2
		case strings.HasPrefix(s[i:], "//"):
			end := strings.IndexByte(s[i:], '\n')
			if end < 0 {
				return 0, &scanError{code: diagnostic.CodeNotClosed, message: "the expression is never closed: // makes a comment of the rest of the line"}
			}
			i += end
		default:
			i++
		}
	}
	return 0, &scanError{code: diagnostic.CodeNotClosed, message: "the expression is never closed", hint: literalHint}
}

// isRaw says whether the string that starts at quote has the prefix r, alone
// or beside b, which turns escapes off.
func isRaw(s string, start, quote int) bool {
	from := quote
	for from > start && quote-from < 2 && strings.IndexByte("rRbB", s[from-1]) >= 0 {
		from--
	}
	if from > start && isNameByte(s[from-1]) {
		return false // the letters end a longer name
	}
	return strings.ContainsAny(s[from:quote], "rR")
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// stringEnd is the index behind the string whose first quote is at start, or
// -1. A string with one quote ends with its line in CEL; that is left to the
// parser, whose message says so.
func stringEnd(s string, start int, raw bool) int {
	quote := s[start : start+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s[start:], triple) {
		quote = triple
	}
	for i := start + len(quote); i < len(s); {
		switch {
		case s[i] == '\\' && !raw:
			i += 2
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote)
		default:
			i++
		}
	}
	return -1
}

// wholeExpression returns the expression that a string consists of, if it is
// one. One newline at the end, as block strings have it, does not count.
func wholeExpression(parts []part) (part, bool) {
	switch {
	case len(parts) == 1 && parts[0].expr:
		return parts[0], true
	case len(parts) == 2 && parts[0].expr && !parts[1].expr && parts[1].text == "\n":
		return parts[0], true
	}
	return part{}, false
}
