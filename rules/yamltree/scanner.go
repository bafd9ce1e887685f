package yamltree

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

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
	return 0, &ScanError{Code: diagnostic.CodeNotClosed, Message: "the expression is never closed", Hint: "write } at its end, or $${ for a literal ${"}
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

func (s *Source) within(n *yaml.Node, offset int) diagnostic.Position {
	switch {
	case s.paths != nil:
		return s.inObject(n, offset)
	case n == s.whole:
		before := n.Value[:min(max(offset, 0), len(n.Value))]
		start := strings.LastIndexByte(before, '\n') + 1
		return diagnostic.Position{File: s.name, Line: 1 + strings.Count(before, "\n"), Column: 1 + utf8.RuneCountInString(before[start:])}
	}
	if n.Kind != yaml.ScalarNode || offset < 0 || offset > len(n.Value) || n.Line < 1 || n.Line > len(s.lines) {
		return s.at(n)
	}
	c := &cursor{lines: s.lines, line: n.Line - 1}
	c.col = diagnostic.ByteOf(c.text(), n.Column-1)
	c.skipProperties()
	ok := false
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		ok = c.intoBlock(n.Value, offset)
	case n.Style&yaml.DoubleQuotedStyle != 0:
		c.col++
		ok = c.intoFlow(n.Value, offset, c.doubleQuoted)
	case n.Style&yaml.SingleQuotedStyle != 0:
		c.col++
		ok = c.intoFlow(n.Value, offset, c.singleQuoted)
	default:
		ok = c.intoFlow(n.Value, offset, c.rune)
	}
	if !ok {
		return s.at(n)
	}
	return s.outside(diagnostic.Position{File: s.name, Line: c.line + 1, Column: utf8.RuneCountInString(c.text()[:c.col]) + 1})
}

// cursor is a position in the lines of a source. col counts bytes from 0.
type cursor struct {
	lines     []string
	line, col int
}

func (c *cursor) text() string { return c.lines[c.line] }
func (c *cursor) rest() string { return c.text()[min(c.col, len(c.text())):] }

func (c *cursor) skipProperties() {
	for strings.HasPrefix(c.rest(), "&") || strings.HasPrefix(c.rest(), "!") {
		i := strings.IndexAny(c.rest(), " \t")
		if i < 0 {
			return
		}
		c.col += i
		c.col += len(c.rest()) - len(strings.TrimLeft(c.rest(), " \t"))
	}
}

// intoFlow moves forward in a plain or quoted scalar by offset bytes of its value. step moves forward by one character
// of the source and returns the number of bytes that it has in the value.
func (c *cursor) intoFlow(value string, offset int, step func() int) bool {
	for done := 0; ; {
		if strings.TrimRight(c.rest(), " \t") == "" && done < len(value) {
			n, ok := c.fold()
			if !ok {
				return false
			}
			if done+n > offset {
				return true
			}
			done += n
			continue
		}
		if done >= offset {
			return true
		}
		done += step()
	}
}

// fold moves to the next line with text and returns the number of bytes in the value: one space for a line end, or a
// newline for each empty line after it.
func (c *cursor) fold() (int, bool) {
	empty := 0
	for c.line+1 < len(c.lines) {
		c.line++
		c.col = len(c.text()) - len(strings.TrimLeft(c.text(), " \t"))
		if c.rest() != "" {
			return max(empty, 1), true
		}
		empty++
	}
	return 0, false
}

func (c *cursor) rune() int {
	_, size := utf8.DecodeRuneInString(c.rest())
	c.col += size
	return size
}

func (c *cursor) singleQuoted() int {
	if strings.HasPrefix(c.rest(), "''") {
		c.col++
	}
	return c.rune()
}

func (c *cursor) doubleQuoted() int {
	rest := c.rest()
	if !strings.HasPrefix(rest, `\`) {
		return c.rune()
	}
	if len(rest) == 1 { // an escaped line end has no bytes in the value
		c.col++
		if n, ok := c.fold(); ok {
			return n - 1
		}
		return 0
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[rest[1]]
	c.col += min(2+digits, len(rest))
	if digits == 0 {
		return cmp.Or(map[byte]int{'N': 2, '_': 2, 'L': 3, 'P': 3}[rest[1]], 1)
	}
	r, _ := strconv.ParseUint(rest[2:min(2+digits, len(rest))], 16, 31) // the parser has accepted it
	return max(utf8.RuneLen(rune(r)), 1)
}

// intoBlock moves forward in a block string by offset bytes of its value. It matches the value against the lines.
func (c *cursor) intoBlock(value string, offset int) bool {
	indent, ok := c.blockIndent(value)
	if !ok {
		return false
	}
	at := 0
	for c.line+1 < len(c.lines) {
		c.line++
		line := c.text()
		if strings.TrimLeft(line, " ") == "" && len(line) <= indent {
			continue
		}
		if len(line) < indent {
			return false
		}
		content := line[indent:]
		// Between two lines the value has a space or newlines.
		for at < len(value) && !strings.HasPrefix(value[at:], content) {
			if value[at] != ' ' && value[at] != '\n' {
				return false
			}
			at++
		}
		if offset <= at+len(content) {
			c.col = indent + max(offset-at, 0)
			return true
		}
		at += len(content)
	}
	return false
}

// blockIndent returns the indentation of a block string: that of its first line with text in the source, without the
// indentation that the line has in the value.
func (c *cursor) blockIndent(value string) (int, bool) {
	first := strings.TrimLeft(value, "\n")
	inValue := len(first) - len(strings.TrimLeft(first, " "))
	for i := c.line + 1; i < len(c.lines); i++ {
		line := c.lines[i]
		if text := strings.TrimLeft(line, " "); text != "" {
			indent := len(line) - len(text) - inValue
			return indent, indent >= 0
		}
	}
	return 0, false
}

// SpanAt returns the number of characters of the scalar, with its quotes, that begins at a position which At returned.
// It returns 0 for a scalar of several lines, and for every other position.
func (s *Source) SpanAt(p diagnostic.Position) int {
	s.spanning.Do(func() {
		s.spans = make(map[diagnostic.Position]int)
		for _, root := range s.roots {
			s.noteSpans(root)
		}
	})
	span := s.spans[p]
	for _, in := range s.inners {
		span = max(span, in.SpanAt(p))
	}
	return span
}

func (s *Source) noteSpans(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		if span := s.spanOf(n); span > 0 {
			s.spans[s.at(n)] = span
		}
	}
	for _, below := range n.Content {
		s.noteSpans(below)
	}
}

// spanOf returns the number of characters of a scalar, with its quotes; 0 if it has several lines.
func (s *Source) spanOf(n *yaml.Node) int {
	if s.paths != nil {
		return 0
	}
	from, to := s.at(n), s.within(n, len(n.Value))
	if from.Line != to.Line || to.Column <= from.Column || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return 0
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		to.Column++
	}
	return to.Column - from.Column
}

// Span returns the number of characters in the source of length bytes of a scalar's value, from offset on. It returns 0
// if they are on several lines.
func (s *Source) Span(n *Node, offset, length int) int {
	from, to := s.Within(n, offset), s.Within(n, offset+length)
	if text, ok := n.Text(); !ok || s.paths != nil || from.Line != to.Line || offset+length > len(text) {
		return 0
	}
	return max(to.Column-from.Column, 0)
}
