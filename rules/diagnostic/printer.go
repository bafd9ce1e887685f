package diagnostic

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Printer writes findings for people: each with its line, a caret below its column, and its hint.
//
//	rule.yaml:11:27: error: unknown name "parnt" [KN0204]
//	   11 |       metadata: {name: "${parnt.metadata.name}"}
//	      |                           ^~~~~
//	      hint: did you mean "parent"?
//
// A related place is shown with its line too, or with its position if it is in another file:
//
//	rule.yaml:12:9: error: two children are called "web" [KN0203]
//	   12 |   - id: web
//	      |         ^~~
//	    7 |   - id: web
//	      |         --- the first one
//
// The zero value is ready to use.
type Printer struct {
	// Color adds the colours of a terminal (ANSI escape codes).
	Color bool
	// Width is the maximum number of columns of a line. A longer line is cut around the column of the finding. 0 means
	// 120.
	Width int
}

const defaultPrintWidth = 120

// The escape codes that Color adds.
const (
	ansiBold   = "\x1b[1m"
	ansiRed    = "\x1b[1;31m"
	ansiYellow = "\x1b[1;33m"
	ansiBlue   = "\x1b[34m"
	ansiReset  = "\x1b[0m"
)

// Print writes the findings in their order.
func (p Printer) Print(w io.Writer, findings Findings) error {
	for _, f := range findings {
		if _, err := io.WriteString(w, p.text(f)); err != nil {
			return fmt.Errorf("print findings: %w", err)
		}
	}
	return nil
}

func (p Printer) text(f Finding) string {
	var b strings.Builder
	if pos := f.Position.String(); pos != "" {
		b.WriteString(p.in(ansiBold, printable(pos)+":") + " ")
	}
	color := ansiRed
	if f.Severity == SeverityWarning {
		color = ansiYellow
	}
	b.WriteString(p.in(color, string(f.Severity)+":") + " " + printable(f.Message))
	if f.Code != "" {
		b.WriteString(" [" + string(f.Code) + "]")
	}
	b.WriteString("\n")
	indent := ""
	if f.Line > 0 && f.Column > 0 && f.Text != "" {
		indent = strings.Repeat(" ", lineNumberWidth+1)
		line, under := p.lines(f.Position, f.Text, f.Length)
		b.WriteString(line + under(color, "^", "~", ""))
	}
	for _, r := range f.Related {
		b.WriteString(p.related(f, r))
	}
	if f.Hint != "" {
		b.WriteString(indent + p.in(ansiBold, "hint:") + " " + printable(f.Hint) + "\n")
	}
	return b.String()
}

// related shows another place that a finding is about: with its line if it is in the same file, else with its position
// unless the message has it.
func (p Printer) related(f Finding, r Related) string {
	pos := r.String()
	switch {
	case r.File == f.File && r.Line > 0 && r.Column > 0 && r.Text != "":
		line, under := p.lines(r.Position, r.Text, r.Length)
		if above, _ := p.lines(f.Position, f.Text, f.Length); line == above {
			line = "" // it is shown already
		}
		return line + under(ansiBlue, "-", "-", " "+printable(r.Label))
	case strings.Contains(f.Message, pos):
		return ""
	default:
		return strings.Repeat(" ", lineNumberWidth+1) + p.in(ansiBold, "note:") + " " + printable(pos+": "+r.Label) + "\n"
	}
}

// Excerpt returns a line of a source with its number, and marks below length characters from a position on.
func (p Printer) Excerpt(at Position, text string, length int) string {
	line, under := p.lines(at, text, length)
	return line + under(ansiBlue, "^", "~", "")
}

const lineNumberWidth = 5

// lines returns a line of the source with its number, and a function that writes the marks below it.
func (p Printer) lines(at Position, text string, length int) (line string, under func(color, mark, more, label string) string) {
	number := fmt.Sprintf("%*d", lineNumberWidth, at.Line)
	shown, before, columns := p.excerpt(text, at.Column, length)
	return p.in(ansiBlue, number+" |") + " " + shown + "\n", func(color, mark, more, label string) string {
		marks := p.in(color, mark+strings.Repeat(more, max(columns-1, 0))+label)
		return p.in(ansiBlue, strings.Repeat(" ", len(number))+" |") + " " + before + marks + "\n"
	}
}

func (p Printer) in(color, text string) string {
	if !p.Color {
		return text
	}
	return color + text + ansiReset
}

// cell is one character as a terminal shows it.
type cell struct {
	text string
	// columns is its width. The width of a tab depends on its column, so the line of the caret repeats the tab.
	columns int
}

// excerpt returns a line as it is shown, the blanks before the caret below the character at column, which counts from
// 1, and the number of columns of the length characters there.
func (p Printer) excerpt(text string, column, length int) (line, before string, columns int) {
	cells, at, cutBefore, cutAfter := p.cells(text, column-1)
	from, to := p.window(cells, at)
	var shown, caret strings.Builder
	if from > 0 || cutBefore {
		shown.WriteString("…")
		caret.WriteString(" ")
	}
	for i := from; i < to; i++ {
		shown.WriteString(cells[i].text)
		switch {
		case i >= at+length:
		case i >= at:
			columns += cells[i].columns
		case cells[i].text == "\t":
			caret.WriteString("\t")
		default:
			caret.WriteString(strings.Repeat(" ", cells[i].columns))
		}
	}
	if to < len(cells) || cutAfter {
		shown.WriteString("…")
	}
	return strings.TrimRight(shown.String(), " \t"), caret.String(), columns
}

// cells returns the characters around an index, as many as could be shown. at is the position of the indexed character
// among them. before and after report whether the line has more characters on that side.
func (p Printer) cells(text string, index int) (cells []cell, at int, before, after bool) {
	most := max(p.Width, defaultPrintWidth) + 1
	n := 0
	for _, r := range text {
		if n++; n-1 < index-most {
			before = true
			continue
		}
		if n-1 > index+most {
			after = true
			break
		}
		cells = append(cells, cellOf(r))
	}
	return cells, min(index-max(index-most, 0), len(cells)), before, after
}

// window returns the range of cells that fit: all, or those around at.
func (p Printer) window(cells []cell, at int) (from, to int) {
	limit := p.Width
	if limit <= 0 {
		limit = defaultPrintWidth
	}
	total := 0
	for _, c := range cells {
		total += c.columns
	}
	if total <= limit {
		return 0, len(cells)
	}
	from, to = at, at
	for used := 0; used < limit && (from > 0 || to < len(cells)); {
		if from > 0 {
			from--
			used += cells[from].columns
		}
		if to < len(cells) {
			used += cells[to].columns
			to++
		}
	}
	return from, to
}

// cellOf returns the cell of a character. It replaces characters that control a terminal or change the direction of the
// text around them.
func cellOf(r rune) cell {
	switch {
	case r == '\t':
		return cell{text: "\t", columns: 1}
	case unicode.In(r, unicode.Mn, unicode.Me):
		return cell{text: string(r)}
	case !unicode.IsPrint(r) && r != '\u3000' && r != '\u00a0':
		return cell{text: "\ufffd", columns: 1}
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return cell{text: string(r), columns: 2}
	default:
		return cell{text: string(r), columns: 1}
	}
}

// printable replaces the control characters of a message, so that it stays on one line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != ' ' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
