package layout

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
)

// page is a document during its layout.
type page struct {
	// lines are the lines of the text. Node.Line counts them from 1.
	lines []string
	// ordered is true if fields are sorted.
	ordered bool
	// unusual is set by text that cannot be laid out. The document then stays as it is.
	unusual bool
}

// part is a field of a mapping or an item of a list. Its lines are indented relative to the mapping or list.
type part struct {
	// above are the comments above it, with an empty line for each gap.
	above []string
	// lines start with the name, or with what follows the dash.
	lines []string
}

// isBlock reports whether a node is a non-empty mapping or list in block style.
func isBlock(n *yaml.Node) bool {
	return (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
}

// document lays out the root. head are the comments at the start, up to the last empty line before the first field.
func (p *page) document(root *yaml.Node, start int) (head, body []string) {
	gap := p.lines[start : startOf(root)-1]
	split := 0
	for i, line := range gap {
		if strings.TrimSpace(line) == "" {
			split = i + 1
		}
	}
	if head = tidy(gap[:split]); len(head) > 0 {
		head = append(head, "")
	}
	return head, p.mapping(root, start+split, len(p.lines), language.Document())
}

// startOf is the line where a node starts, not counting an anchor on the line before.
func startOf(n *yaml.Node) int {
	if isBlock(n) && n.Kind == yaml.MappingNode {
		return n.Content[0].Line
	}
	return n.Line
}

// mapping lays out a mapping. Its lines, with the comments above it, go from first to before limit.
func (p *page) mapping(n *yaml.Node, first, limit int, t *language.Type) []string {
	var parts []part
	var names []string
	column := n.Content[0].Column
	from := first
	below := p.comments(first, n.Content[0].Line-1)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if key.Column != column || key.Kind != yaml.ScalarNode || key.Line-1 < from || p.isComplex(key) {
			p.unusual = true
			return nil
		}
		next := limit
		if i+2 < len(n.Content) {
			next = n.Content[i+2].Line - 1
		}
		end, own := p.ends(val, key.Line-1, next, column-1, column-1)
		part := p.field(key, val, own, t.Below(key.Value))
		part.above = append(below, part.above...)
		below = p.comments(own, next)
		from = end
		parts, names = append(parts, part), append(names, key.Value)
	}
	if p.ordered {
		parts = sorted(parts, ranks(t, names))
	}
	return join(parts, below, "")
}

// isComplex reports whether a key is written with a question mark or as a block scalar.
func (p *page) isComplex(key *yaml.Node) bool {
	before := strings.TrimRight(upTo(p.lines[key.Line-1], key.Column-1), " ")
	return strings.HasSuffix(before, "?") || key.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// sorted sorts the parts by their ranks. It is stable.
func sorted(parts []part, ranks []int) []part {
	indices := make([]int, len(parts))
	for i := range indices {
		indices[i] = i
	}
	slices.SortStableFunc(indices, func(a, b int) int { return ranks[a] - ranks[b] })
	out := make([]part, len(parts))
	for to, from := range indices {
		out[to] = parts[from]
	}
	return out
}

// list lays out a list, like mapping.
func (p *page) list(n *yaml.Node, first, limit int, t *language.Type) []string {
	dash := p.dash(n)
	var parts []part
	from := first
	below := p.comments(first, p.dashLine(n.Content[0], dash))
	for i, item := range n.Content {
		next := limit
		if i+1 < len(n.Content) {
			if next = p.dashLine(n.Content[i+1], dash); next <= from && i > 0 {
				p.unusual = true
			}
		}
		at := p.dashLine(item, dash)
		if at < from || p.unusual {
			p.unusual = true
			return nil
		}
		end, own := p.ends(item, at, next, dash, dash)
		part := p.item(item, at, dash, own, t.Below(""))
		part.above = append(below, part.above...)
		below = p.comments(own, next)
		from = end
		parts = append(parts, part)
	}
	return join(parts, below, "- ")
}

// dash is the column of a list's dashes.
func (p *page) dash(n *yaml.Node) int {
	item := n.Content[0]
	before := upTo(p.lines[startOf(item)-1], item.Column-1)
	if strings.HasSuffix(strings.TrimRight(before, " "), "-") {
		return strings.LastIndexByte(before, '-')
	}
	return n.Column - 1
}

// dashLine is the line with the dash of an item. The item may start on a later line.
func (p *page) dashLine(item *yaml.Node, dash int) int {
	for line := item.Line - 1; line >= 0; line-- {
		text := p.lines[line]
		if len(text) > dash && text[dash] == '-' && strings.Trim(text[:dash], " -") == "" && (len(text) == dash+1 || text[dash+1] == ' ') {
			return line
		}
		if line < item.Line-1 && strings.TrimSpace(text) != "" && !isComment(text) {
			break
		}
	}
	p.unusual = true
	return 0
}

// ends finds the end of a part that starts at line. end is the line after its value. own also covers the comments below
// a mapping or list that are indented more than the part, as they belong to it.
func (p *page) ends(val *yaml.Node, line, next, column, parent int) (end, own int) {
	end = p.contentEnd(val, line, next, parent)
	if own = end; isBlock(val) {
		for i := end; i < next; i++ {
			if text := p.lines[i]; isComment(text) {
				if indentation(text) <= column {
					break
				}
				own = i + 1
			}
		}
	}
	return end, own
}

// contentEnd is the line after the last one with content of a node.
func (p *page) contentEnd(n *yaml.Node, line, next, parent int) int {
	switch {
	case isBlock(n):
		last := n.Content[len(n.Content)-1]
		parent := n.Content[0].Column - 1
		from := n.Content[max(0, len(n.Content)-2)].Line - 1
		if n.Kind == yaml.SequenceNode {
			from, parent = last.Line-1, p.dash(n)
		}
		return p.contentEnd(last, from, next, parent)
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return p.blockScalarEnd(n, next, parent)
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0, n.Style&yaml.FlowStyle != 0:
		end, ok := p.closing(n)
		if !ok {
			p.unusual = true
		}
		return end.line + 1
	}
	// A plain scalar continues up to a comment or the next part.
	end := max(line, n.Line-1) + 1
	for i := end; i < next && !isComment(p.lines[i]); i++ {
		if strings.TrimSpace(p.lines[i]) != "" {
			end = i + 1
		}
	}
	return end
}

// comments are the lines in a range, which must be comments or empty.
func (p *page) comments(from, to int) []string {
	for _, line := range p.lines[from:to] {
		if strings.TrimSpace(line) != "" && !isComment(line) {
			p.unusual = true
		}
	}
	return p.lines[from:to]
}

// field lays out a field of a mapping. end is the line after it.
func (p *page) field(key, val *yaml.Node, end int, t *language.Type) part {
	name, after := p.key(key)
	v := p.value(val, key.Line-1, after, end, key.Column-1, t, false)
	lines := v.below
	if v.first == "" {
		return part{above: v.above, lines: append([]string{name + ":"}, lines...)}
	}
	return part{above: v.above, lines: append([]string{name + ": " + v.first}, lines...)}
}

// item lays out an item of a list. at is the line of its dash, and end the line after it.
func (p *page) item(val *yaml.Node, at, dash, end int, t *language.Type) part {
	if !isBlock(val) {
		v := p.value(val, at, dash+1, end, dash, t, true)
		return part{above: v.above, lines: append([]string{v.first}, v.below...)}
	}
	var above []string
	rest := p.lines[at][dash+1:]
	first := startOf(val) - 1
	if first > at {
		switch rest = strings.TrimSpace(rest); {
		case strings.HasPrefix(rest, "#"):
			above = append(above, rest)
		case rest != "":
			p.unusual = true // an anchor
		}
		above = append(above, p.comments(at+1, first)...)
	} else if strings.TrimSpace(upTo(p.lines[at], val.Column-1)[dash+1:]) != "" {
		p.unusual = true
	}
	if p.unusual {
		return part{}
	}
	return part{above: above, lines: p.collection(val, first, end, t)}
}

func (p *page) collection(n *yaml.Node, first, limit int, t *language.Type) []string {
	if n.Kind == yaml.MappingNode {
		return p.mapping(n, first, limit, t)
	}
	return p.list(n, first, limit, t)
}

// join joins parts, each after a mark, and the comments below them. An empty line before the first part is dropped.
func join(parts []part, below []string, mark string) []string {
	var out []string
	for i, part := range parts {
		above := single(part.above)
		if i == 0 && len(above) > 0 && above[0] == "" {
			above = above[1:]
		}
		out = append(out, above...)
		for j, line := range part.lines {
			switch {
			case j == 0:
				line = strings.TrimRight(mark+line, " ")
			case line != "":
				line = strings.Repeat(" ", len(mark)) + line
			}
			out = append(out, line)
		}
	}
	end := single(below)
	if len(end) > 0 && end[len(end)-1] == "" {
		end = end[:len(end)-1]
	}
	return append(out, end...)
}

// single removes indentation, and merges consecutive empty lines.
func single(lines []string) []string {
	var out []string
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line != "" || len(out) == 0 || out[len(out)-1] != "" {
			out = append(out, line)
		}
	}
	return out
}

// tidy is single without empty lines at the start and the end.
func tidy(lines []string) []string {
	out := single(lines)
	if len(out) > 0 && out[0] == "" {
		out = out[1:]
	}
	if len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

func isComment(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "#") }

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// upTo is the part of a line before a column, counted in characters from 0.
func upTo(line string, column int) string { return line[:diagnostic.ByteOf(line, column)] }

// ranks is the sort rank of each field of a mapping. A field that the language does not have keeps its place after the
// field before it.
func ranks(t *language.Type, names []string) []int {
	order := orderOf(t, names)
	out := make([]int, len(names))
	last := -1
	for i, name := range names {
		if at := slices.Index(order, name); at >= 0 {
			last = at
		}
		out[i] = last
	}
	return out
}

// orderOf lists the names of a mapping's fields in order. nil: no order.
func orderOf(t *language.Type, names []string) []string {
	for _, form := range t.Forms() {
		switch form.Form {
		case language.Mapping:
			if known := form.Fields.Names(); slices.ContainsFunc(names, func(name string) bool { return slices.Contains(known, name) }) {
				return known
			}
		case language.Object:
			if slices.Contains(names, "apiVersion") && slices.Contains(names, "kind") {
				return []string{"apiVersion", "kind", "metadata"}
			}
		}
	}
	return nil
}
