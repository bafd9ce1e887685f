package yamltree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
)

// Source is the text of one file, of one key of a ConfigMap, or of one object.
type Source struct {
	name string
	// lines are the lines as YAML counts them, without their ends, which are in ends. The last line may have no end.
	lines, ends []string
	// outer and holder are set for a text that is itself a value in a file: a key of a ConfigMap. Positions are then
	// positions in that file. holder is the scalar with the text.
	outer  *Source
	holder *yaml.Node
	// inners are the sources of the texts in this one.
	inners []*Source
	// paths is set for the text of an object, whose lines nobody sees. It has the path of each node in the object.
	paths map[*yaml.Node]string
	// whole is set for a text that is one string instead of YAML.
	whole *yaml.Node
	// offsets is the result of starts. The first call computes it; findings of several rules may call it concurrently.
	once    sync.Once
	offsets []int
	// roots are the parsed trees, of which the first call of SpanAt makes spans.
	roots    []*yaml.Node
	spanning sync.Once
	spans    map[diagnostic.Position]int
	// hidden has the hidden columns by line, which counts from 1. Only the outermost source has it.
	hidden map[int][]columns
	// probed is the number of bytes that were parsed again to find mistakes in YAML.
	probed int
}

// New returns the source of the text of a file. name is its name in findings.
func New(name string, data []byte) *Source {
	s := &Source{name: name}
	rest := strings.TrimPrefix(string(data), diagnostic.ByteOrderMark)
	for {
		line, end, after := diagnostic.CutLine(rest)
		s.lines, s.ends = append(s.lines, line), append(s.ends, end)
		if end == "" {
			return s
		}
		rest = after
	}
}

// NewObject returns the source of an object as JSON or YAML. Its positions are paths.
func NewObject(name string, data []byte) *Source {
	s := New(name, data)
	s.paths = map[*yaml.Node]string{}
	return s
}

// NewText returns the source of a text that is one string, and the node of the string.
func NewText(name, text string) (*Source, *Node) {
	s := New(name, []byte(text))
	s.whole = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: 1, Column: 1}
	return s, &Node{Kind: Scalar, yaml: s.whole, Value: text, Size: 1}
}

// IsFile reports whether the text is that of a file, and not part of an object.
func (s *Source) IsFile() bool { return s.outer == nil && s.paths == nil && s.whole == nil }

// Inner returns the source of the text in a scalar. Its positions are positions in s.
func (s *Source) Inner(holder *Node) *Source {
	text, _ := holder.Text()
	in := New(s.name, []byte(text))
	in.outer, in.holder = s, holder.yaml
	s.inners = append(s.inners, in)
	return in
}

// text joins lines, each with its end. The last one gets a newline if it has no end.
func (s *Source) text(first, last int) string {
	text := s.TextOf(document{first, last})
	if last > first && s.ends[last-1] == "" {
		text += "\n"
	}
	return text
}

// At returns the position of a node.
func (s *Source) At(n *Node) diagnostic.Position { return s.at(n.yaml) }

// Within returns the position of the byte at offset of a scalar's value. It is exact for plain and quoted scalars and
// for block strings. If it cannot match the text with the value, it returns the position of the scalar.
func (s *Source) Within(n *Node, offset int) diagnostic.Position { return s.within(n.yaml, offset) }

func (s *Source) at(n *yaml.Node) diagnostic.Position {
	if s.paths != nil {
		return s.inObject(n, 0)
	}
	return s.outside(diagnostic.Position{File: s.name, Line: n.Line, Column: n.Column})
}

// outside converts a position in the text to one in the file that contains the text.
func (s *Source) outside(p diagnostic.Position) diagnostic.Position {
	if s.outer == nil || p.Line < 1 || p.Line > len(s.lines) {
		return p
	}
	return s.outer.within(s.holder, s.starts()[p.Line-1]+diagnostic.ByteOf(s.lines[p.Line-1], p.Column-1))
}

// starts returns the offsets of the lines in the value of holder.
func (s *Source) starts() []int {
	s.once.Do(func() {
		at := 0
		if strings.HasPrefix(s.holder.Value, diagnostic.ByteOrderMark) {
			at = len(diagnostic.ByteOrderMark)
		}
		s.offsets = make([]int, len(s.lines))
		for i := range s.lines {
			s.offsets[i] = at
			at += len(s.lines[i]) + len(s.ends[i])
		}
	})
	return s.offsets
}

// LineAt returns the line of a position that At or Within returned.
func (s *Source) LineAt(p diagnostic.Position) string {
	s = s.outermost()
	if p.Line < 1 || p.Line > len(s.lines) {
		return ""
	}
	return s.lines[p.Line-1]
}

// Mentions reports whether some line of the source contains the text.
func (s *Source) Mentions(text string) bool {
	return slices.ContainsFunc(s.lines, func(line string) bool { return strings.Contains(line, text) })
}

// enter records the path of a node of an object, and of all nodes below. The key of a field has the path of its value.
func (s *Source) enter(n *yaml.Node, path []string) {
	s.paths[n] = strings.Join(path, "")
	below := func(c *yaml.Node, step string) {
		s.enter(c, append(slices.Clip(path), step))
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			step := fieldStep(key.Value, len(path) == 0)
			below(key, step)
			below(value, step)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			below(item, "["+strconv.Itoa(i)+"]")
		}
	}
}

// fieldStep returns a field as a step of a path: .name or ["other name"].
func fieldStep(name string, first bool) string {
	switch {
	case !IsPathName(name):
		return "[" + strconv.Quote(name) + "]"
	case first:
		return name
	default:
		return "." + name
	}
}

// inObject returns the position of a node of an object. For text of several lines it adds the line of the byte at
// offset.
func (s *Source) inObject(n *yaml.Node, offset int) diagnostic.Position {
	p := diagnostic.Position{File: s.name, Path: s.paths[n]}
	text := strings.TrimRight(n.Value, "\n")
	if n.Kind == yaml.ScalarNode && strings.Contains(text, "\n") && offset >= 0 && offset <= len(n.Value) {
		p.Path += fmt.Sprintf(", line %d", 1+strings.Count(n.Value[:offset], "\n"))
	}
	return p
}

// IsPathName reports whether a name needs no quotes in a path: it consists of letters, digits, _, - and $.
func IsPathName(s string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$"
	return s != "" && strings.Trim(s, allowed) == ""
}

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
