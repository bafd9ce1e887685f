package listing

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// Format is an output format.
type Format string

// The zero value is Table.
const (
	Table Format = ""
	Wide  Format = "wide"
	JSON  Format = "json"
	YAML  Format = "yaml"
	Name  Format = "name"
)

// Formats lists the values of a user's -o flag.
func Formats() []string { return []string{string(Wide), string(JSON), string(YAML), string(Name)} }

// IsFormat reports whether the format exists.
func (f Format) IsFormat() bool { return f == Table || slices.Contains(Formats(), string(f)) }

// IsTable reports whether the format is a table.
func (f Format) IsTable() bool { return f == Table || f == Wide }

// Printer prints several lists: only the first has a header, and columns never get narrower.
type Printer struct {
	Out    io.Writer
	Format Format
	// Color prints states in colours.
	Color bool
	// NoHeaders omits the titles of the columns.
	NoHeaders bool

	printed bool
	widths  []int
}

// Print prints a list. The error reports a failure of the writer or of the encoding.
func (p *Printer) Print(l List) error {
	text := ""
	switch p.Format {
	case JSON, YAML:
		encoded, err := p.encode(l)
		if err != nil {
			return err
		}
		text = encoded
	case Name:
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
	var documents []any
	for _, row := range l.Rows {
		documents = append(documents, row.Value)
	}
	if !l.Single && !p.printed {
		items := documents
		if items == nil {
			items = []any{}
		}
		documents = []any{map[string]any{"apiVersion": "v1", "kind": "List", "items": items}}
	}
	var out strings.Builder
	for _, document := range documents {
		text, err := json.MarshalIndent(document, "", "    ")
		if err != nil {
			return "", fmt.Errorf("encode the list: %w", err)
		}
		if p.Format == JSON {
			out.Write(append(text, '\n'))
			continue
		}
		if text, err = yaml.JSONToYAML(text); err != nil {
			return "", fmt.Errorf("encode the list: %w", err)
		}
		if p.printed {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	p.printed = true
	return out.String(), nil
}

// gap is the space between columns, as in kubectl.
const gap = 3

// table formats a list as a table.
func (p *Printer) table(l List) string {
	var shown []int
	for i, column := range l.Columns {
		if !column.Wide || p.Format == Wide {
			shown = append(shown, i)
		}
	}
	var lines [][]string
	header := !p.printed && !p.NoHeaders && len(l.Rows) > 0
	if header {
		var titles []string
		for _, i := range shown {
			titles = append(titles, l.Columns[i].Title)
		}
		lines = append(lines, titles)
	}
	for _, row := range l.Rows {
		var cells []string
		for _, i := range shown {
			cells = append(cells, row.Cells[i])
		}
		lines = append(lines, cells)
	}
	p.printed = p.printed || len(l.Rows) > 0
	p.widen(len(shown), lines)
	var out strings.Builder
	for n, cells := range lines {
		var line strings.Builder
		for i, cell := range cells {
			padding := strings.Repeat(" ", max(0, p.widths[i]-utf8.RuneCountInString(cell)))
			if p.Color && (n > 0 || !header) {
				cell = colored(cell)
			}
			line.WriteString(cell + padding)
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

// widen widens the columns to fit the lines.
func (p *Printer) widen(columns int, lines [][]string) {
	for len(p.widths) < columns {
		p.widths = append(p.widths, 0)
	}
	for _, cells := range lines {
		for i, cell := range cells {
			p.widths[i] = max(p.widths[i], utf8.RuneCountInString(cell)+gap)
		}
	}
}

// colored colours a state: green for good, red for bad, yellow for undecided.
func colored(cell string) string {
	color := ""
	switch cell {
	case "True", "Running", "Ready", "Current":
		color = "32"
	case "False", "Refused", "PruneHeld", "DefinitionHeld", "Failed", "Warning":
		color = "31"
	case "Unknown", "Suspended", "Removing", "InProgress", "Terminating":
		color = "33"
	default:
		return cell
	}
	return "\x1b[" + color + "m" + cell + "\x1b[0m"
}
