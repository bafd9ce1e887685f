package languageserver

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/yamltree"
)

// marker is put where the cursor is. It is a name in YAML and in expressions.
const marker = "kanonCursorHere"

// cursor is a place in a text that can be read as YAML, with the marker in it.
type cursor struct {
	// text is the document with the marker, in the lines that it has in the whole text.
	text *text
	// word is what stands at the cursor, from the byte from to the byte to of its line. typed is the part before the cursor.
	word, typed    string
	line, from, to int
	// root is the document, and nodes are those on the way to the marker: each is below the one before.
	root  *yaml.Node
	nodes []*yaml.Node
	// path are the names on the way, with an empty one for each item of a list.
	path []string
	// isName is true if the marker is the name of a field.
	isName bool
	// expression is the part of an expression before the marker. It is not nil if the marker is in one.
	expression *string
}

// find puts the marker at a position. It is nil where nothing can be said, as in a comment.
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
	lines := make([]string, last) // those of other documents are empty
	copy(lines[first:], t.lines[first:last])
	if first > 0 {
		lines[first] = "" // the --- between the documents
	}
	before, behind := line[:c.from], line[c.to:]
	attempts := []string{before + marker + behind, before + marker + ":" + behind}
	if expression, ok := expressionBefore(lines[:p.Line], before); ok {
		c.expression = &expression
		attempts = []string{closed(before, marker+closers(expression)+"}")}
	} else {
		attempts = append(attempts, closed(before, marker), closed(before, marker+": x"), closed(before, marker)+":")
	}
	// The text as it is, then without what is wrong in other lines, then without what is wrong beside the marker.
	whole := append([]string(nil), lines...)
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

// place reads the lines, with the one of the cursor, as YAML and goes to the marker. So many lines may be left out.
func (c *cursor) place(t *text, lines []string, attempt string, repairs int) bool {
	lines = append([]string(nil), lines...)
	lines[c.line] = attempt
	root, repaired := readable(t.uri, lines, c.line, repairs)
	if root == nil {
		return false
	}
	c.text = &text{uri: t.uri, lines: repaired}
	c.root, c.nodes, c.path = root, nil, nil
	return c.descend(root)
}

// maxRepairs is how many lines are left out of a text that is not YAML.
const maxRepairs = 10

// readable is the document in the lines. So many of those that do not parse are left out, but for one that must stays.
func readable(name string, lines []string, stays, repairs int) (*yaml.Node, []string) {
	lines = append([]string(nil), lines...)
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
		wrong := finding.Line - 1
		if wrong = culprit(lines, wrong, stays); wrong < 0 {
			return nil, nil
		}
		lines[wrong] = ""
	}
	return nil, nil
}

// culprit is the line because of which a parser fails in a line: one shortly before that has opened quotes or braces and not closed them, or
// the line itself. It is negative if there is nothing to leave out.
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

// last is the last name on the way; empty for an item, and for a document that is nothing but the marker.
func (c *cursor) last() string {
	if len(c.path) == 0 {
		return ""
	}
	return c.path[len(c.path)-1]
}

// descend goes to the scalar with the marker.
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

// mapping is the mapping that the marker is a name or a value of, after so many names of the path; nil if that is none.
func (c *cursor) mapping(names int) *yaml.Node {
	if names < len(c.nodes) && c.nodes[names].Kind == yaml.MappingNode {
		return c.nodes[names]
	}
	return nil
}

func isWord(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// maxExpressionLines is how many lines an expression may have before the cursor.
const maxExpressionLines = 30

// expressionBefore is the part of an expression that stands before the end of a line. It is false if none is open there.
func expressionBefore(above []string, line string) (string, bool) {
	all := line
	for i := 0; ; i++ {
		if start := strings.LastIndex(all, "${"); start >= 0 {
			expression := all[start+2:]
			if strings.HasSuffix(all[:start], "$") && !strings.HasSuffix(all[:start], "$$") {
				return "", false // a literal ${
			}
			return expression, !isClosed(expression)
		}
		n := len(above) - 1 - i
		if n < 0 || i > maxExpressionLines || strings.Contains(all, "}") {
			return "", false
		}
		all = above[n] + "\n" + all
	}
}

// isClosed reports whether an expression ends within a text that begins with it.
func isClosed(text string) bool {
	_, ended := opened(text)
	return ended
}

// closers close what is open in an expression.
func closers(expression string) string {
	open, _ := opened(expression)
	slices.Reverse(open)
	return string(open)
}

// opened is what closes the brackets and quotes that an expression has opened, in the order in which they were, and whether the
// expression ended.
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

// closed is a line with something at its end, where quotes and braces of YAML are closed that the line has opened.
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
