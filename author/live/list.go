package live

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// List is a list to be printed.
type List struct {
	Columns []Column
	Rows    []Row
	// Single is true if one object was requested, which JSON and YAML print without a List around it.
	Single bool
}

// Column is a column of a table.
type Column struct {
	Title string
	// Wide is true for a column that only the wide table has.
	Wide bool
}

// Columns makes columns from titles. Titles in lower case are for the wide table only.
func Columns(titles ...string) []Column {
	columns := make([]Column, len(titles))
	for i, title := range titles {
		columns[i] = Column{Title: strings.ToUpper(title), Wide: title != strings.ToUpper(title)}
	}
	return columns
}

// Row is one object of a list.
type Row struct {
	// Name identifies the object in other commands.
	Name string
	// Value is printed as JSON or YAML.
	Value any
	Cells []string
}

// Add adds a row. Its cells are in the order of the columns.
func (l *List) Add(name string, value any, cells ...string) {
	l.Rows = append(l.Rows, Row{Name: name, Value: value, Cells: cells})
}

// Age is the time since a moment, as kubectl prints it.
func Age(since, now time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(since))
}

// OrNone returns the text, or "<none>" if it is empty.
func OrNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

// CountText is a number as text; "-" if it is negative, which means unknown.
func CountText(n int) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// maxLine is the longest message in a table that is not wide, in characters.
const maxLine = 80

// Line joins the lines of a message. It truncates a long one unless all is true.
func Line(message string, all bool) string {
	line := strings.Join(strings.Fields(message), " ")
	if runes := []rune(line); !all && len(runes) > maxLine {
		return strings.TrimRight(string(runes[:maxLine-1]), " ") + "…"
	}
	return line
}

// Plural is the plural of a kind for people: Deployments, NetworkPolicies.
func Plural(gvk schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(gvk) // the guess needs no cluster, and only the ending of its result is used
	if ending, ok := strings.CutPrefix(plural.Resource, strings.ToLower(gvk.Kind)); ok {
		return gvk.Kind + ending
	}
	return strings.TrimSuffix(gvk.Kind, "y") + "ies"
}
