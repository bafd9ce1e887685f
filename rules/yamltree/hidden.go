package yamltree

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"kanon.dev/kanon/rules/diagnostic"
)

// hiddenMark replaces each hidden character, so that columns stay the same.
const hiddenMark = '*'

// columns is a range of characters in a line, without to. Columns count from 1.
type columns struct{ from, to int }

func (s *Source) outermost() *Source {
	for s.outer != nil {
		s = s.outer
	}
	return s
}

// ShownAt is LineAt for people, without the hidden parts.
func (s *Source) ShownAt(p diagnostic.Position) string {
	s = s.outermost()
	line := s.LineAt(p)
	if len(s.hidden[p.Line]) == 0 {
		return line
	}
	text := []rune(line)
	indent := len(text) - len([]rune(strings.TrimLeft(line, " \t")))
	for _, c := range s.hidden[p.Line] {
		for i := max(c.from-1, indent); i < min(c.to-1, len(text)); i++ {
			text[i] = hiddenMark
		}
	}
	return string(text)
}

// Hide hides the bytes from…to of a scalar's value, such as a password, from people. If their positions in the text
// cannot be found, it hides the whole scalar. Call it before the first call of ShownAt.
func (s *Source) Hide(n *Node, from, to int) {
	part := n.Raw()[from:to]
	to -= len(part) - len(strings.TrimRightFunc(part, unicode.IsSpace)) // a block string may go on with another line
	if from += len(part) - len(strings.TrimLeftFunc(part, unicode.IsSpace)); from >= to {
		return
	}
	begin, end := s.Within(n, from), s.Within(n, to)
	if at := s.At(n); end == at || begin == at && from > 0 {
		s.hideAll(n)
		return
	}
	s.hide(begin, end)
}

// hideAll hides a whole scalar. Unless its length is known, that is the rest of its line and the more indented lines
// below.
func (s *Source) hideAll(n *Node) {
	at := s.At(n)
	if span := s.spanOf(n.yaml); span > 0 {
		s.hide(at, diagnostic.Position{Line: at.Line, Column: at.Column + span})
		return
	}
	lines := s.outermost().lines
	if at.Line < 1 || at.Line > len(lines) {
		return // an object has no lines
	}
	last := at.Line
	for last < len(lines) && (strings.TrimSpace(lines[last]) == "" || indentOf(lines[last]) > indentOf(lines[at.Line-1])) {
		last++
	}
	s.hide(at, diagnostic.Position{Line: last, Column: len(lines[last-1]) + 1})
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func (s *Source) hide(begin, end diagnostic.Position) {
	outer := s.outermost()
	if outer.hidden == nil {
		outer.hidden = make(map[int][]columns)
	}
	for line := begin.Line; line >= 1 && line <= end.Line && line <= len(outer.lines); line++ {
		c := columns{1, len(outer.lines[line-1]) + 1}
		if line == begin.Line {
			c.from = begin.Column
		}
		if line == end.Line {
			c.to = end.Column
		}
		outer.hidden[line] = append(outer.hidden[line], c)
	}
}

// HideUnread hides parts of a line that is in no tree, because the text is not YAML. hidden gets the lines of the file
// and the index of the line, and returns ranges of bytes in that line.
func (s *Source) HideUnread(p diagnostic.Position, hidden func(lines []string, at int) [][2]int) {
	outer := s.outermost()
	if p.Line < 1 || p.Line > len(outer.lines) {
		return
	}
	line := outer.lines[p.Line-1]
	column := func(offset int) diagnostic.Position {
		return diagnostic.Position{Line: p.Line, Column: utf8.RuneCountInString(line[:offset]) + 1}
	}
	for _, part := range hidden(outer.lines, p.Line-1) {
		s.hide(column(part[0]), column(part[1]))
	}
}
