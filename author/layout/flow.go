package layout

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
)

// position is a byte in a line, both counted from 0.
type position struct{ line, column int }

// flow writes a flow mapping or list on one line. It returns false if that contains a comment, an anchor, or a name
// without a value.
func (p *page) flow(n *yaml.Node, t *language.Type) (string, bool) {
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return "", false
	}
	switch n.Kind {
	case yaml.AliasNode:
		return "*" + n.Value, true
	case yaml.SequenceNode:
		items := make([]string, len(n.Content))
		for i, item := range n.Content {
			var ok bool
			if items[i], ok = p.flow(item, t.Below("")); !ok {
				return "", false
			}
		}
		return "[" + strings.Join(items, ", ") + "]", true
	case yaml.MappingNode:
		return p.flowMapping(n, t)
	}
	switch {
	case strings.ContainsAny(n.Value, "#\n"), n.Value == "" && n.Style == 0:
		return "", false
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0:
		return n.Value, true
	}
	return p.raw(n)
}

func (p *page) flowMapping(n *yaml.Node, t *language.Type) (string, bool) {
	var fields []part
	var names []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" {
			return "", false
		}
		name, ok := p.flow(key, nil)
		if !ok {
			return "", false
		}
		value, ok := p.flow(n.Content[i+1], t.Below(key.Value))
		if !ok {
			return "", false
		}
		fields, names = append(fields, part{lines: []string{name + ": " + value}}), append(names, key.Value)
	}
	if p.ordered {
		fields = sorted(fields, ranks(t, names))
	}
	text := make([]string, len(fields))
	for i, field := range fields {
		text[i] = field.lines[0]
	}
	return "{" + strings.Join(text, ", ") + "}", true
}

// raw is a quoted text with its quotes, if it is on one line.
func (p *page) raw(n *yaml.Node) (string, bool) {
	end, ok := p.closing(n)
	if !ok || end.line != n.Line-1 {
		return "", false
	}
	line := p.lines[end.line][:end.column]
	return line[diagnostic.ByteOf(line, n.Column-1):], true
}

// closing is the position after a quoted text, or after a flow mapping or list.
func (p *page) closing(n *yaml.Node) (position, bool) {
	at := position{n.Line - 1, diagnostic.ByteOf(p.lines[n.Line-1], n.Column-1)}
	s := &scanner{lines: p.lines, position: at, start: true}
	for s.line < len(s.lines) {
		if s.step() {
			return s.position, true
		}
	}
	return at, false
}

// scanner scans a quoted or flow value for its end.
type scanner struct {
	lines []string
	position
	// open are the open brackets.
	open []byte
	// start is true where a value, and so quotes, can start.
	start bool
}

// step advances, and reports whether the value has ended.
func (s *scanner) step() bool {
	line := s.lines[s.line]
	if s.column >= len(line) {
		s.line, s.column = s.line+1, 0
		return false
	}
	c := line[s.column]
	blank := s.column == 0 || line[s.column-1] == ' '
	s.column++
	switch {
	case c == ' ':
		return false
	case c == '#' && blank:
		s.line, s.column = s.line+1, 0
		return false
	case s.start && (c == '"' || c == '\''):
		s.start = false
		s.quotes(c)
		return len(s.open) == 0
	case s.start && (c == '&' || c == '!'):
		for s.column < len(line) && !strings.ContainsRune(" ,[]{}", rune(line[s.column])) {
			s.column++
		}
		return false
	case c == '[' || c == '{':
		s.open, s.start = append(s.open, c), true
		return false
	case c == ']' || c == '}':
		if len(s.open) > 0 {
			s.open = s.open[:len(s.open)-1]
		}
		s.start = false
		return len(s.open) == 0
	}
	s.start = c == ',' || c == ':' && (s.column == len(line) || strings.ContainsRune(" \"'[]{},", rune(line[s.column])))
	return false
}

// quotes advances to the position after the closing quote.
func (s *scanner) quotes(quote byte) {
	for s.line < len(s.lines) {
		line := s.lines[s.line]
		for s.column < len(line) {
			c := line[s.column]
			s.column++
			switch {
			case c == '\\' && quote == '"':
				s.column++
			case c == quote && quote == '\'' && s.column < len(line) && line[s.column] == '\'':
				s.column++
			case c == quote:
				return
			}
		}
		s.line, s.column = s.line+1, 0
	}
}
