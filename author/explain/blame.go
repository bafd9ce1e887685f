package explain

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/redact"
)

// blame writes the object as YAML. Before each line are its source in a rule and the manager that wrote it last.
func (p ExplanationPrinter) blame(out *bytes.Buffer, e *Explanation) {
	for _, w := range e.Writings {
		fmt.Fprintf(out, "# rule %s, %s, for %s\n", w.Rule, w.Part, objectName(w.Parent))
		for _, text := range []string{w.Problem, w.Kept} {
			if text != "" {
				fmt.Fprintf(out, "#   %s\n", redact.Printable(text))
			}
		}
	}
	for _, note := range e.Notes {
		fmt.Fprintf(out, "# %s\n", redact.Printable(note))
	}
	if len(e.Writings)+len(e.Notes) == 0 {
		out.WriteString("# no rule writes to it\n")
	}
	lines := e.lines()
	rows := make([][3]string, len(lines))
	widths := [3]int{len("SOURCE"), len("MANAGER"), len("AGE")}
	for i, l := range lines {
		rows[i] = p.columns(l.field)
		for c := range widths {
			widths[c] = max(widths[c], len([]rune(rows[i][c])))
		}
	}
	row := func(cells [3]string, text string) {
		var line strings.Builder
		for c, cell := range cells {
			line.WriteString(cell + strings.Repeat(" ", widths[c]-len([]rune(cell))+2))
		}
		out.WriteString(strings.TrimRight(p.dim(line.String())+text, " ") + "\n")
	}
	row([3]string{"SOURCE", "MANAGER", "AGE"}, "OBJECT")
	for i, l := range lines {
		row(rows[i], l.text)
	}
}

const (
	ansiBlue  = "\x1b[34m"
	ansiReset = "\x1b[0m"
)

func (p ExplanationPrinter) dim(text string) string {
	if !p.Color {
		return text
	}
	return ansiBlue + text + ansiReset
}

// columns are the source, manager and age of a line.
func (p ExplanationPrinter) columns(f *Explained) [3]string {
	if f == nil {
		return [3]string{}
	}
	out := [3]string{"-", "-", ""}
	switch {
	case f.Source != nil:
		out[0] = f.Source.short()
	case f.Message == setAtCreation:
		out[0] = "(default)"
	}
	if len(f.Managers) > 0 {
		o := f.Managers[0]
		out[1], out[2] = o.Manager, p.age(o.Since)
		if len(f.Managers) > 1 {
			out[1] += "+" + strconv.Itoa(len(f.Managers)-1)
		}
	}
	return out
}

// short is a short form of the position: the file without its directories, or the path in an object.
func (s *Source) short() string {
	if s.Line == 0 {
		return strings.TrimPrefix(s.Path, "spec.")
	}
	return filepath.Base(s.File) + ":" + strconv.Itoa(s.Line)
}

// line is a line of YAML. field is nil for a line that only opens a mapping or a list.
type line struct {
	text  string
	field *Explained
}

// lines are the explained parts of the object as YAML, then the fields that the object does not have, as comments.
func (e *Explanation) lines() []line {
	w := &yamlWriter{fields: map[string]*Explained{}, above: map[string]bool{}}
	for i := range e.Fields {
		f := &e.Fields[i]
		w.fields[keyOf(f.Path)] = f
		for n := range f.Path {
			w.above[keyOf(f.Path[:n])] = f.Exists || w.above[keyOf(f.Path[:n])]
		}
	}
	for _, name := range sortedNames(e.live) {
		w.part(e.live[name], Path{named(name)}, "")
	}
	lines := w.lines
	for i := range e.Fields {
		if f := &e.Fields[i]; !f.Exists {
			lines = append(lines, line{text: "# " + f.Path.String() + ": " + f.Message, field: f})
		}
	}
	return lines
}

// yamlWriter writes an object as kubectl does.
type yamlWriter struct {
	fields map[string]*Explained
	// above has the mappings and lists that contain an explained field.
	above map[string]bool
	lines []line
}

// part writes the field or item at a path, if it is explained or contains an explained field.
func (w *yamlWriter) part(value any, at Path, indent string) {
	if w.fields[keyOf(at)] == nil && !w.above[keyOf(at)] {
		return
	}
	step := at[len(at)-1]
	isItem := step.Index >= 0
	fields, isMap := value.(map[string]any)
	items, _ := value.([]any)
	switch {
	case len(fields)+len(items) > 0:
	case isItem:
		w.leaf(marshal([]any{value}), at, indent)
		return
	default:
		w.leaf(marshal(map[string]any{step.Name: value}), at, indent)
		return
	}
	first, inner := len(w.lines), indent
	if isItem || isMap {
		inner += "  "
	}
	if !isItem {
		w.lines = append(w.lines, line{text: indent + strings.TrimSuffix(marshal(map[string]any{step.Name: nil}), " null\n")})
	}
	for _, name := range sortedNames(fields) {
		w.part(fields[name], at.then(named(name)), inner)
	}
	for i, item := range items {
		w.part(item, at.then(Step{Index: i}), inner)
	}
	if isItem {
		w.lines[first].text = indent + "- " + w.lines[first].text[len(inner):]
	}
}

// leaf adds the lines of one value. A comment says what Kanon does about it, if anything.
func (w *yamlWriter) leaf(text string, at Path, indent string) {
	f := w.fields[keyOf(at)]
	texts := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, t := range texts {
		if i == 0 && f != nil && f.isRemarkable() {
			t += "  # " + redact.Printable(f.Message)
		}
		w.lines = append(w.lines, line{text: indent + t, field: f})
	}
}

// isRemarkable reports whether the object differs from the rule.
func (f *Explained) isRemarkable() bool {
	return f.Rendered != nil || f.State == Differs || f.State == NotWritten && f.Source != nil || f.State == Withdrawn
}

func marshal(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v\n", v)
	}
	return string(text)
}
