package listing

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// List is what is printed.
type List struct {
	Columns []Column
	Rows    []Row
	// Single is true if one thing was asked for, which JSON and YAML print by itself.
	Single bool
}

// Column is a column of the table.
type Column struct {
	Title string
	// Wide is true for a column that only the wide table has.
	Wide bool
}

// Columns are columns by their titles. Those in lower case are for the wide table only.
func Columns(titles ...string) []Column {
	columns := make([]Column, len(titles))
	for i, title := range titles {
		columns[i] = Column{Title: strings.ToUpper(title), Wide: title != strings.ToUpper(title)}
	}
	return columns
}

// Row is one thing.
type Row struct {
	// Name is what other commands call it.
	Name string
	// Value is for JSON and YAML, by encoding/json.
	Value any
	Cells []string
}

// Add adds a row.
func (l *List) Add(name string, value any, cells ...string) {
	l.Rows = append(l.Rows, Row{Name: name, Value: value, Cells: cells})
}

// Age is how long ago a time was, as kubectl has it.
func Age(since, now time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(since))
}

// Or is a text, or what kubectl has in place of an empty one.
func Or(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

// Count is a number, and a dash for one below zero, which is not known.
func Count(n int) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// maxLine is how many characters of a message a table has unless it is wide.
const maxLine = 80

// Line is a message in one line. Unless all of it is wanted, a long one is cut.
func Line(message string, all bool) string {
	line := strings.Join(strings.Fields(message), " ")
	if runes := []rune(line); !all && len(runes) > maxLine {
		return strings.TrimRight(string(runes[:maxLine-1]), " ") + "…"
	}
	return line
}
