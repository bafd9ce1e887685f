package live

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// ListFormat is an output format.
type ListFormat string

// The zero value is FormatTable.
const (
	FormatTable ListFormat = ""
	FormatWide  ListFormat = "wide"
	FormatJSON  ListFormat = "json"
	FormatYAML  ListFormat = "yaml"
	FormatName  ListFormat = "name"
)

// Formats lists the values of a user's -o flag.
func Formats() []string {
	return []string{string(FormatWide), string(FormatJSON), string(FormatYAML), string(FormatName)}
}

// IsTable reports whether the format is a table.
func (f ListFormat) IsTable() bool { return f == FormatTable || f == FormatWide }

// Printer prints several lists: only the first has a header, and columns never get narrower.
type Printer struct {
	Out    io.Writer
	Format ListFormat
	// Color prints states in colours.
	Color bool
	// NoHeaders omits the titles of the columns.
	NoHeaders bool

	printed bool
	widths  Widths
}

// Print prints a list. The error reports a failure of the writer or of the encoding.
func (p *Printer) Print(l List) error {
	text := ""
	switch p.Format {
	case FormatJSON, FormatYAML:
		encoded, err := p.encode(l)
		if err != nil {
			return fmt.Errorf("encode the list: %w", err)
		}
		text = encoded
	case FormatName:
		for _, row := range l.Rows {
			text += row.Name + "\n"
		}
	default:
		text = p.table(l)
	}
	if _, err := io.WriteString(p.Out, text); err != nil {
		return fmt.Errorf("print the list: %w", err)
	}
	return nil
}

// encode formats a list as JSON or YAML. After the first list, each row is a document of its own.
func (p *Printer) encode(l List) (string, error) {
	documents := []any{}
	for _, row := range l.Rows {
		documents = append(documents, row.Value)
	}
	if !l.Single && !p.printed {
		documents = []any{map[string]any{"apiVersion": "v1", "kind": "List", "items": documents}}
	}
	var out strings.Builder
	for _, document := range documents {
		text, err := json.MarshalIndent(document, "", "    ")
		if err != nil {
			return "", err
		}
		if p.Format == FormatJSON {
			out.Write(append(text, '\n'))
			continue
		}
		if text, err = yaml.JSONToYAML(text); err != nil {
			return "", err
		}
		if p.printed {
			out.WriteString("---\n")
		}
		out.Write(text)
		p.printed = true
	}
	p.printed = true
	return out.String(), nil
}

// table formats a list as a table.
func (p *Printer) table(l List) string {
	shown := func(cells []string) (kept []string) {
		for i, column := range l.Columns {
			if !column.Wide || p.Format == FormatWide {
				kept = append(kept, cells[i])
			}
		}
		return kept
	}
	var titles []string
	for _, column := range l.Columns {
		titles = append(titles, column.Title)
	}
	var lines [][]string
	header := !p.printed && !p.NoHeaders && len(l.Rows) > 0
	if header {
		lines = append(lines, shown(titles))
	}
	for _, row := range l.Rows {
		lines = append(lines, shown(row.Cells))
	}
	p.printed = p.printed || len(l.Rows) > 0
	for _, cells := range lines {
		p.widths.Fit(cells)
	}
	var out strings.Builder
	for n, cells := range lines {
		out.WriteString(p.widths.Line(cells, func(_ int, cell string) string {
			if p.Color && (n > 0 || !header) {
				return colored(cell)
			}
			return cell
		}))
	}
	return out.String()
}

// Widths are the widths of a table's columns. A tabwriter would count the colours.
type Widths []int

// Fit widens the columns to fit a line.
func (w *Widths) Fit(cells []string) {
	*w = append(*w, make([]int, max(0, len(cells)-len(*w)))...)
	for i, cell := range cells {
		(*w)[i] = max((*w)[i], utf8.RuneCountInString(cell))
	}
}

// gap is the space between columns, as in kubectl.
const gap = 3

// Line is a line of the table. paint colours a cell.
func (w Widths) Line(cells []string, paint func(column int, cell string) string) string {
	var line strings.Builder
	for i, cell := range cells {
		line.WriteString(paint(i, cell) + strings.Repeat(" ", max(0, w[i]+gap-utf8.RuneCountInString(cell))))
	}
	return strings.TrimRight(line.String(), " ") + "\n"
}

// colored colours a state: green for good, red for bad, yellow for undecided.
func colored(cell string) string {
	for color, states := range map[string][]string{
		"32": {"True", "Running", "Ready", "Current"},
		"31": {"False", "Refused", "PruneHeld", "DefinitionHeld", "Failed", "Warning"},
		"33": {"Unknown", "Suspended", "Removing", "InProgress", "Terminating"},
	} {
		if slices.Contains(states, cell) {
			return "\x1b[" + color + "m" + cell + "\x1b[0m"
		}
	}
	return cell
}
