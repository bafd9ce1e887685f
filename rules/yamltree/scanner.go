package yamltree

import (
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
)

// Part is a part of a template string: text, or an expression.
type Part struct {
	Expr bool
	// Text is literal text, with $${ replaced by ${, or the expression without its braces.
	Text string
	// Offset is the byte of the string at which the text begins.
	Offset int
	// Spread is true for ${...list}. Text does not include the dots.
	Spread bool
}

// ScanError is a mistake in a template string.
type ScanError struct {
	Offset  int
	Code    diagnostic.Code
	Message string
	Hint    string
}

// literalHint is the hint for authors who did not mean an expression.
const literalHint = "write $${ for a literal ${"

// Error returns the message without the position.
func (e *ScanError) Error() string { return e.Message }

// HasExpression reports whether a string has an expression or a literal ${.
func HasExpression(s string) bool { return strings.Contains(s, "${") }

// Scan splits a template string into its parts. Adjacent text is one part.
func Scan(s string) ([]Part, error) {
	var parts []Part
	var text strings.Builder
	textStart := 0
	flush := func() {
		if text.Len() > 0 {
			parts = append(parts, Part{Text: text.String(), Offset: textStart})
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
				err.Offset = i
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

func expressionPart(s string, start, end int) (Part, *ScanError) {
	const blank = " \t\r\n"
	body := s[start:end]
	trimmed := strings.TrimLeft(body, blank)
	p := Part{Expr: true, Offset: start + len(body) - len(trimmed)}
	if rest, ok := strings.CutPrefix(trimmed, "..."); ok {
		p.Spread = true
		p.Offset += len("...") + len(rest) - len(strings.TrimLeft(rest, blank))
		trimmed = strings.TrimLeft(rest, blank)
	}
	p.Text = strings.TrimRight(trimmed, blank)
	if p.Text == "" {
		return Part{}, &ScanError{Offset: start - len("${"), Code: diagnostic.CodeEmptyExpression, Message: "the expression is empty", Hint: literalHint}
	}
	return p, nil
}

// expressionEnd finds the brace that closes the expression at start. It skips strings, comments and escaped names, and
// counts the braces that the expression opens.
func expressionEnd(s string, start int) (int, *ScanError) {
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
				return 0, &ScanError{Code: diagnostic.CodeNotClosed, Message: "the expression is never closed, because a string in it is not"}
			}
			i = next
		case c == '`':
			end := strings.IndexByte(s[i+1:], '`')
			if end < 0 {
				return 0, &ScanError{Code: diagnostic.CodeNotClosed, Message: "the expression is never closed, because a ` in it is not"}
			}
			i += end + 2
		case strings.HasPrefix(s[i:], "//"):
			end := strings.IndexByte(s[i:], '\n')
			if end < 0 {
				return 0, &ScanError{Code: diagnostic.CodeNotClosed, Message: "the expression is never closed: // makes a comment of the rest of the line"}
			}
			i += end
		default:
			i++
		}
	}
	return 0, &ScanError{Code: diagnostic.CodeNotClosed, Message: "the expression is never closed", Hint: literalHint}
}

// isRaw reports whether the string that begins at quote has the prefix r, alone or with b, which disables escapes.
func isRaw(s string, start, quote int) bool {
	from := quote
	for from > start && quote-from < 2 && strings.IndexByte("rRbB", s[from-1]) >= 0 {
		from--
	}
	if from > start && IsNameByte(s[from-1]) {
		return false // the letters are the end of a longer name
	}
	return strings.ContainsAny(s[from:quote], "rR")
}

// IsNameByte reports whether a character can be in a name of CEL.
func IsNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// stringEnd returns the index after the string that begins at start, or -1. In CEL, a string that is not triple-quoted
// ends with its line; the parser reports that.
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

// Whole returns the expression if the string is one expression and nothing else. One newline at the end, as block
// strings have it, does not count.
func Whole(parts []Part) (Part, bool) {
	switch {
	case len(parts) == 1 && parts[0].Expr:
		return parts[0], true
	case len(parts) == 2 && parts[0].Expr && !parts[1].Expr && parts[1].Text == "\n":
		return parts[0], true
	}
	return Part{}, false
}

// WholeOf is Whole for a node. It is false for every node but a string, and for a string that Scan refuses.
func WholeOf(n *Node) (Part, bool) {
	text, _ := n.Text()
	parts, _ := Scan(text) // none with an error
	return Whole(parts)
}

// IsSpread reports whether an item of a list is ${...list}, which is replaced by the items of that list.
func IsSpread(item *Node) bool {
	whole, _ := WholeOf(item)
	return whole.Spread
}

// StringLiterals returns the ranges of the string literals in an expression, as offsets without the end. A string that is not
// closed goes up to the end.
func StringLiterals(expression string) (found [][2]int) {
	for i := 0; i < len(expression); {
		if c := expression[i]; c != '"' && c != '\'' {
			i++
			continue
		}
		end := stringEnd(expression, i, isRaw(expression, 0, i))
		if end < 0 || end > len(expression) {
			end = len(expression)
		}
		found = append(found, [2]int{i, end})
		i = end
	}
	return found
}
