package layout

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
)

// laid is a value after its layout.
type laid struct {
	// above are comments between the name or dash and the value.
	above []string
	// first follows the name or the dash. below are the other lines, indented relative to the field, or to the text
	// after the dash.
	first string
	below []string
}

// value lays out the value of a field, or an item that is not a block mapping or list. The name or dash is in line at,
// and ends before byte after. end is the line after the value.
func (p *page) value(val *yaml.Node, at, after, end, parent int, t *language.Type, inList bool) laid {
	if p.unusual {
		return laid{}
	}
	rest := strings.TrimSpace(p.lines[at][after:])
	if isBlock(val) {
		if startOf(val)-1 == at {
			p.unusual = true
			return laid{}
		}
		body := p.collection(val, at+1, end, t)
		if val.Kind == yaml.MappingNode {
			body = indented(body, "  ")
		}
		return laid{first: oneBlank(rest), below: body}
	}
	if val.Kind == yaml.ScalarNode && val.Value == "" && val.Style == 0 {
		return laid{first: oneBlank(rest)} // null
	}
	var out laid
	start := val.Line - 1
	if start > at {
		if rest != "" {
			out.above = append(out.above, rest)
			p.unusual = p.unusual || !strings.HasPrefix(rest, "#")
		}
		out.above = append(out.above, tidy(p.comments(at+1, start))...)
		after = 0
	}
	from := diagnostic.ByteOf(p.lines[start], val.Column-1)
	if strings.TrimSpace(p.lines[start][min(after, from):from]) != "" {
		p.unusual = true
		return out
	}
	base, inner := parent, "  "
	if inList {
		base, inner = parent+2, ""
	}
	p.leaf(&out, val, position{start, from}, end, base, inner, t)
	return out
}

// leaf lays out a value that starts at a position. The lines below it are indented relative to column base. Lines of
// text are indented by inner.
func (p *page) leaf(out *laid, val *yaml.Node, at position, end, base int, inner string, t *language.Type) {
	switch {
	case val.Kind == yaml.ScalarNode && val.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		p.blockScalar(out, val, at, end, inner)
	case val.Kind == yaml.ScalarNode && val.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		last, ok := p.closing(val)
		if !ok {
			p.unusual = true
			return
		}
		if last.line == at.line {
			out.first = p.lines[at.line][at.column:last.column] + p.comment(last)
			return
		}
		p.copyLines(out, at, last, func(line string) string { return inner + strings.TrimLeft(line, " ") })
	case val.Style&yaml.FlowStyle != 0 || (val.Kind == yaml.MappingNode || val.Kind == yaml.SequenceNode):
		last, ok := p.closing(val)
		if !ok {
			p.unusual = true
			return
		}
		if text, ok := p.flow(val, t); ok && last.line == at.line {
			out.first = text + p.comment(last)
			return
		}
		p.copyLines(out, at, last, func(line string) string {
			return strings.Repeat(" ", max(indentation(line)-base, 0)) + strings.TrimLeft(line, " ")
		})
	default:
		line := end - 1
		text := p.lines[line]
		last := position{line, len(text)}
		from := 0
		if line == at.line {
			from = at.column
		}
		if i := strings.Index(text[from:], " #"); i >= 0 {
			last.column = from + i
		}
		p.copyLines(out, at, last, func(line string) string { return inner + strings.TrimSpace(line) })
	}
}

// copyLines copies a value, from one position to another. indent indents each line except the first.
func (p *page) copyLines(out *laid, from, to position, indent func(string) string) {
	for i := from.line; i <= to.line; i++ {
		line := p.lines[i]
		if i == to.line {
			line = line[:to.column]
		}
		if i == from.line {
			line = line[from.column:]
		} else if strings.TrimSpace(line) == "" {
			line = ""
		} else {
			line = indent(line)
		}
		if i == to.line {
			line = strings.TrimRight(line, " ") + p.comment(to)
		}
		if i == from.line {
			out.first = line
		} else {
			out.below = append(out.below, line)
		}
	}
}

// comment is the comment after a value that ends at a position, with a blank before it.
func (p *page) comment(at position) string {
	rest := strings.TrimSpace(p.lines[at.line][at.column:])
	switch {
	case rest == "":
		return ""
	case strings.HasPrefix(rest, "#"):
		return " " + rest
	}
	p.unusual = true
	return ""
}

// blockScalar lays out the text of a block scalar (| or >).
func (p *page) blockScalar(out *laid, val *yaml.Node, at position, end int, inner string) {
	out.first = oneBlank(p.lines[at.line][at.column:])
	old, digit, ok := p.blockIndent(val, end)
	if !ok {
		p.unusual = true
		return
	}
	if digit > 0 {
		if digit += len(inner) - 2; digit < 0 {
			p.unusual = true // the indicator is deeper than the text
			return
		}
		inner = strings.Repeat(" ", digit)
	}
	for _, line := range p.lines[at.line+1 : end] {
		if len(line) <= old {
			out.below = append(out.below, "")
			continue
		}
		out.below = append(out.below, inner+line[old:])
	}
}

// blockIndent is the indentation of the text of a block scalar, and its indentation indicator, or 0.
func (p *page) blockIndent(n *yaml.Node, end int) (indent, digit int, ok bool) {
	header := p.lines[n.Line-1]
	header, _, _ = strings.Cut(header[diagnostic.ByteOf(header, n.Column-1):], " #")
	header = header[strings.LastIndexAny(header, "|>")+1:]
	digit, _ = strconv.Atoi(strings.Trim(header, "+- "))
	for _, line := range p.lines[n.Line:end] {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if digit == 0 {
			return indentation(line), 0, true
		}
		// The value shows how many leading blanks of its first line belong to it.
		first := strings.TrimLeft(n.Value, "\n")
		return indentation(line) - indentation(first), digit, indentation(line) >= indentation(first)
	}
	return 0, digit, digit == 0
}

// blockScalarEnd is the line after the text of a block scalar.
func (p *page) blockScalarEnd(n *yaml.Node, next, parent int) int {
	indent, _, ok := p.blockIndent(n, next)
	end := n.Line
	if !ok || indent <= parent {
		return end // no text
	}
	stop := next
	for i := n.Line; i < next; i++ {
		switch line := p.lines[i]; {
		case strings.TrimSpace(line) == "":
		case indentation(line) < indent:
			stop = i
		default:
			end = i + 1
		}
		if stop < next {
			break
		}
	}
	if header := p.lines[n.Line-1]; strings.Contains(header[diagnostic.ByteOf(header, n.Column-1):], "+") {
		return stop // keep: trailing empty lines belong to the text
	}
	return end
}

// key is the name of a field as written, and the byte after its colon.
func (p *page) key(n *yaml.Node) (name string, after int) {
	line := p.lines[n.Line-1]
	from := diagnostic.ByteOf(line, n.Column-1)
	end := from + len(n.Value)
	name = n.Value
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		last, ok := p.closing(n)
		if !ok || last.line != n.Line-1 {
			p.unusual = true
			return "", 0
		}
		end = last.column
		name = line[from:end]
	} else if !strings.HasPrefix(line[from:], n.Value) {
		p.unusual = true
		return "", 0
	}
	rest := strings.TrimLeft(line[end:], " ")
	if !strings.HasPrefix(rest, ":") {
		p.unusual = true
		return "", 0
	}
	return name, len(line) - len(rest) + 1
}

// oneBlank is the text after a name, with one blank before a comment.
func oneBlank(text string) string {
	text = strings.TrimSpace(text)
	if before, comment, ok := strings.Cut(text, " #"); ok {
		return strings.TrimRight(before, " ") + " #" + comment
	}
	return text
}

func indented(lines []string, by string) []string {
	for i, line := range lines {
		if line != "" {
			lines[i] = by + line
		}
	}
	return lines
}
