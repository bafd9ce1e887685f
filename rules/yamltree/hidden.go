package yamltree

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"kanon.dev/kanon/rules/diagnostic"
)

// hiddenMark stands for each character that is hidden, so that columns stay as they are.
const hiddenMark = '*'

// columns are the characters of a line from one column on to before another. Columns count from 1.
type columns struct{ from, to int }

// outermost is the source of the file that holds the text.
func (s *Source) outermost() *Source {
	for s.outer != nil {
		s = s.outer
	}
	return s
}

// ShownAt is LineAt for people, without what was hidden.
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

// Hide has the bytes of a scalar's value from one offset on to before another hidden from people, such as a password. Where value and
// text do not match, it hides all of the scalar. It is called before anybody asks for lines.
func (s *Source) Hide(n *Node, from, to int) {
	part := n.Raw()[from:to]
	to -= len(part) - len(strings.TrimRightFunc(part, unicode.IsSpace)) // in a block string, a line after the value's may follow
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

// hideAll hides a scalar: to the end of its line, and the lines below that are further in than that.
func (s *Source) hideAll(n *Node) {
	at := s.At(n)
	if span := s.spanOf(n.yaml); span > 0 {
		s.hide(at, diagnostic.Position{Line: at.Line, Column: at.Column + span})
		return
	}
	lines := s.outermost().lines
	if at.Line < 1 || at.Line > len(lines) {
		return // that of an object, which has no lines
	}
	last := at.Line
	for last < len(lines) && (strings.TrimSpace(lines[last]) == "" || indentOf(lines[last]) > indentOf(lines[at.Line-1])) {
		last++
	}
	s.hide(at, diagnostic.Position{Line: last, Column: len(lines[last-1]) + 1})
}

// indentOf is how many blanks a line begins with.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// hide hides what is from one position on to before another.
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

// HideUnread hides parts of the line of a position that is in no tree, because the text is no YAML. hidden gives them in bytes, of the lines
// of the file and the index of the line in these.
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
