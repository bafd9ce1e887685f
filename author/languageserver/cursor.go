package languageserver

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/yamltree"
)

// marker is inserted at the cursor. It is a valid name in YAML and in CEL.
const marker = "kanonCursorHere"

// cursor is a place in a text that parses as YAML and contains the marker.
type cursor struct {
	// text is the document with the marker, at its line numbers in the whole text.
	text *text
	// word is the word at the cursor, from byte from to byte to of its line. typed is the part before the cursor.
	word, typed    string
	line, from, to int
	// root is the document. nodes are the nodes from the root to the marker, each within the one before.
	root  *yaml.Node
	nodes []*yaml.Node
	// path are the field names from the root to the marker, with an empty name for each list item.
	path []string
	// isName is true if the marker is a field name.
	isName bool
	// expression is the part before the marker of the expression that contains it; nil outside of expressions.
	expression *string
}

// find inserts the marker at a position. It returns nil if no text with the marker parses, as in a comment.
func find(t *text, p position) *cursor {
	offset := t.offset(p)
	line := t.line(p.Line)
	c := &cursor{line: p.Line, from: offset, to: offset}
	for c.from > 0 && isWord(line[c.from-1]) {
		c.from--
	}
	for c.to < len(line) && isWord(line[c.to]) {
		c.to++
	}
	c.word, c.typed = line[c.from:c.to], line[c.from:offset]
	first, last := t.document(p.Line)
	lines := make([]string, last) // lines of other documents are empty
	copy(lines[first:], t.lines[first:last])
	if first > 0 {
		lines[first] = "" // the separator
	}
	before, behind := line[:c.from], line[c.to:]
	attempts := []string{before + marker + behind, before + marker + ":" + behind}
	if expression, ok := expressionBefore(lines[:p.Line], before); ok {
		c.expression = &expression
		attempts = []string{closed(before, marker+closers(expression)+"}")}
	} else {
		attempts = append(attempts, closed(before, marker), closed(before, marker+": x"), closed(before, marker)+":")
	}
	// Try the text as it is, then without lines that do not parse before the marker is added, then without lines that do not parse with it.
	whole := slices.Clone(lines)
	whole[p.Line] = ""
	_, repaired := readable(t.uri, whole, p.Line, maxRepairs)
	for i, base := range [][]string{lines, repaired, lines} {
		for _, attempt := range attempts {
			if len(base) > p.Line && c.place(t, base, attempt, i/2*maxRepairs) {
				return c
			}
		}
	}
	return nil
}

// place parses the lines as YAML, with attempt as the line of the cursor, and finds the marker. It may blank up to
// repairs other lines.
func (c *cursor) place(t *text, lines []string, attempt string, repairs int) bool {
	lines = slices.Clone(lines)
	lines[c.line] = attempt
	root, repaired := readable(t.uri, lines, c.line, repairs)
	if root == nil {
		return false
	}
	c.text = &text{uri: t.uri, lines: repaired}
	c.root, c.nodes, c.path = root, nil, nil
	return c.descend(root)
}

// maxRepairs is the maximum number of lines that are blanked to make a text parse.
const maxRepairs = 10

// readable parses the lines as one document. It blanks up to repairs lines that do not parse, but never the line stays.
func readable(name string, lines []string, stays, repairs int) (*yaml.Node, []string) {
	lines = slices.Clone(lines)
	for range repairs + 1 {
		src := yamltree.New(name, []byte(strings.Join(lines, "\n")))
		docs := src.Documents()
		nodes, finding := src.Parse(docs[0])
		if finding == nil {
			if len(nodes) != 1 {
				return nil, nil
			}
			return nodes[0], lines
		}
		wrong := culprit(lines, finding.Line-1, stays)
		if wrong < 0 {
			return nil, nil
		}
		lines[wrong] = ""
	}
	return nil, nil
}

// culprit is the line to blank after the parser failed in a line: one of the lines just before it that leaves quotes or
// brackets open, or the line itself. It is negative if there is none.
func culprit(lines []string, failed, stays int) int {
	failed = min(max(failed, 0), len(lines)-1)
	for i := failed; i >= max(0, failed-3); i-- {
		if i != stays && closed(lines[i], "") != lines[i] {
			return i
		}
	}
	for i := failed; i >= max(0, failed-3); i-- {
		if i != stays && strings.TrimSpace(lines[i]) != "" {
			return i
		}
	}
	return -1
}

// last is the last name of the path; empty for a list item, and for a document that is only the marker.
func (c *cursor) last() string {
	if len(c.path) == 0 {
		return ""
	}
	return c.path[len(c.path)-1]
}

// descend finds the scalar with the marker, and records the way to it.
func (c *cursor) descend(n *yaml.Node) bool {
	c.nodes = append(c.nodes, n)
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.ScalarNode && strings.Contains(key.Value, marker) {
				c.isName = true
				return true
			}
			c.path = append(c.path, key.Value)
			if c.descend(n.Content[i+1]) {
				return true
			}
			c.path = c.path[:len(c.path)-1]
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			c.path = append(c.path, "")
			if c.descend(item) {
				return true
			}
			c.path = c.path[:len(c.path)-1]
		}
	case yaml.ScalarNode:
		if strings.Contains(n.Value, marker) {
			return true
		}
	}
	c.nodes = c.nodes[:len(c.nodes)-1]
	return false
}

// mapping is the node after the given number of path names, if it is a mapping; otherwise nil.
func (c *cursor) mapping(names int) *yaml.Node {
	if names < len(c.nodes) && c.nodes[names].Kind == yaml.MappingNode {
		return c.nodes[names]
	}
	return nil
}

func isWord(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// maxExpressionLines is the maximum number of lines of an expression before the cursor.
const maxExpressionLines = 30

// expressionBefore is the part of an expression before the end of line. It returns false if no expression is open
// there.
func expressionBefore(above []string, line string) (string, bool) {
	all := line
	for i := 0; ; i++ {
		if start := strings.LastIndex(all, "${"); start >= 0 {
			expression := all[start+2:]
			if strings.HasSuffix(all[:start], "$") && !strings.HasSuffix(all[:start], "$$") {
				return "", false // a literal ${
			}
			_, ended := opened(expression)
			return expression, !ended
		}
		n := len(above) - 1 - i
		if n < 0 || i > maxExpressionLines || strings.Contains(all, "}") {
			return "", false
		}
		all = above[n] + "\n" + all
	}
}

// closers are the brackets and quotes that an expression leaves open, closed.
func closers(expression string) string {
	open, _ := opened(expression)
	slices.Reverse(open)
	return string(open)
}

// opened returns the closing brackets and quotes for those that the expression has opened, in opening order. ended is
// true if the expression ends within the text.
func opened(expression string) (closers []byte, ended bool) {
	quote := byte(0)
	for i := 0; i < len(expression); i++ {
		b := expression[i]
		switch {
		case quote != 0 && b == '\\':
			i++
		case quote != 0 && b == quote:
			quote = 0
		case quote != 0:
		case b == '"' || b == '\'':
			quote = b
		case b == '(':
			closers = append(closers, ')')
		case b == '[' || b == '{':
			closers = append(closers, b+2) // ] and } in ASCII
		case b == '}' && len(closers) == 0:
			return nil, true
		case (b == ')' || b == ']' || b == '}') && len(closers) > 0:
			closers = closers[:len(closers)-1]
		}
	}
	if quote != 0 {
		closers = append(closers, quote)
	}
	return closers, false
}

// closed is before, followed by end and by the closing quotes and brackets of YAML that before leaves open.
func closed(before, end string) string {
	var open []byte
	quote, depth := byte(0), 0
	start := true
	for i := 0; i < len(before); i++ {
		b := before[i]
		switch {
		case strings.HasPrefix(before[i:], "${") && quote == 0:
			depth++
			i++
		case depth > 0 && b == '}':
			depth--
		case quote != 0:
			if b == '\\' && quote == '"' {
				i++
			} else if b == quote {
				quote = 0
			}
		case (b == '"' || b == '\'') && start:
			quote = b
		case depth > 0:
		case b == '{' && start:
			open = append(open, '}')
		case b == '[' && start:
			open = append(open, ']')
		case (b == '}' || b == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
		if b != ' ' {
			start = b == ':' || b == ',' || b == '{' || b == '[' || b == '-' && strings.TrimLeft(before[:i], " -") == ""
		}
	}
	slices.Reverse(open)
	if quote != 0 {
		open = append([]byte{quote}, open...)
	}
	return before + end + string(open)
}
