package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules/diagnostic"
)

// ExplanationPrinter prints explanations as text.
type ExplanationPrinter struct {
	// Now is the time that ages are relative to.
	Now time.Time
	// Color adds ANSI colours.
	Color bool
}

// Print prints an explanation. With detail, and if one text explains all of its fields, it prints the details;
// otherwise the object with a source for each line.
func (p ExplanationPrinter) Print(w io.Writer, e *Explanation, detail bool) error {
	out := &bytes.Buffer{}
	if detail && e.isOne() {
		p.detail(out, e)
	} else {
		p.blame(out, e)
	}
	if _, err := out.WriteTo(w); err != nil {
		return fmt.Errorf("print the explanation: %w", err)
	}
	return nil
}

// isOne reports whether all fields have the same source, state and managers, so that one text explains them.
func (e *Explanation) isOne() bool {
	first := e.Fields[0]
	return !slices.ContainsFunc(e.Fields[1:], func(f Explained) bool {
		if f.Source == nil || first.Source == nil {
			return true
		}
		return f.Source.Position != first.Source.Position || f.State != first.State || f.Message != first.Message || !slices.Equal(f.Managers, first.Managers)
	})
}

// detail explains fields that share one explanation.
func (p ExplanationPrinter) detail(out *bytes.Buffer, e *Explanation) {
	first := e.Fields[0]
	p.line(out, "Object", objectName(e.Object))
	for i, f := range e.Fields {
		text := f.Path.String() + ": " + shownValue(f.Value, f.Hidden)
		if !f.Exists {
			text = f.Path.String() + " does not exist"
		}
		p.line(out, map[bool]string{true: "Field"}[i == 0], text)
	}
	if first.Rule != "" {
		p.line(out, "Rule", p.writer(e, first))
	}
	if s := first.Source; s != nil {
		p.line(out, "Source", s.String())
		out.WriteString(p.excerpt(s, 1))
		for i, in := range s.Inputs {
			p.input(out, in, map[bool]string{true: "Inputs"}[i == 0], 0)
		}
	}
	for i, o := range first.Managers {
		p.line(out, map[bool]string{true: "Managers"}[i == 0], p.owner(o))
	}
	if len(first.Managers) == 0 {
		p.line(out, "Managers", "<none>")
	}
	p.line(out, "State", string(first.State)+": "+first.Message)
	for _, note := range e.notes(first.Message) {
		p.line(out, "Note", note)
	}
}

// notes are the notes on the object, and why rules write nothing to it, except for the message that was printed
// already.
func (e *Explanation) notes(told string) []string {
	notes := slices.Clone(e.Notes)
	for i := range e.Writings {
		if w := &e.Writings[i]; w.Problem != "" && w.Problem != told {
			notes = append(notes, w.Rule+", "+w.Part+", for "+objectName(w.Parent)+": "+w.Problem)
		}
	}
	return notes
}

const labelWidth = 10

func (p ExplanationPrinter) line(out *bytes.Buffer, label, text string) {
	if label != "" {
		label += ":"
	}
	fmt.Fprintf(out, "%-*s%s\n", labelWidth, label, redact.Printable(text))
}

// writer names the rule, part and parent that render a field.
func (p ExplanationPrinter) writer(e *Explanation, f Explained) string {
	for _, w := range e.Writings {
		if w.Rule == f.Rule && w.Part == f.Part {
			return w.Rule + ", " + w.Part + ", for " + objectName(w.Parent)
		}
	}
	return f.Rule + ", " + f.Part
}

// excerpt is the line of a source, followed by the expression if the line does not contain all of it.
func (p ExplanationPrinter) excerpt(s *Source, depth int) string {
	text := ""
	switch {
	case s.Text != "" && s.Column > 0:
		text = diagnostic.Printer{Color: p.Color}.Excerpt(s.Position, s.Text, s.Length)
	case s.Text != "":
		text = lines(s.Text)
	}
	if !strings.Contains(s.Text, s.Expression) {
		text += lines(s.Expression)
	}
	return indented(text, labelWidth-2+2*depth)
}

// lines makes the lines of a text printable, and indents them.
func lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		b.WriteString("  " + redact.Printable(strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}

func indented(text string, by int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.Repeat(" ", by) + line)
	}
	return b.String()
}

// input writes an input, and its own source below it.
func (p ExplanationPrinter) input(out *bytes.Buffer, in Input, label string, depth int) {
	text := in.Path
	switch {
	case in.Hidden:
		text += " = " + hiddenText
	case in.Waits != "":
		text += ": " + in.Waits
	case in.Absent:
		text += " has no value"
	case in.Value != nil:
		text += " = " + shownValue(in.Value, false)
	}
	if in.Object != nil {
		text += "  (" + objectName(*in.Object) + ")"
	}
	if in.Source != nil {
		text += "  from " + in.Source.String()
	}
	p.line(out, label, strings.Repeat("  ", depth)+text)
	if in.Source == nil {
		return
	}
	out.WriteString(p.excerpt(in.Source, depth+1))
	for _, below := range in.Source.Inputs {
		p.input(out, below, "", depth+1)
	}
}

// owner describes a field manager and its last change.
func (p ExplanationPrinter) owner(o Owner) string {
	text := o.Manager + " (" + o.Operation
	if o.Subresource != "" {
		text += " of " + o.Subresource
	}
	text += ")"
	if !o.Since.IsZero() {
		text += ", last change " + p.age(o.Since) + " ago (" + o.Since.UTC().Format(time.RFC3339) + ")"
	}
	return text
}

func (p ExplanationPrinter) age(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return duration.HumanDuration(p.Now.Sub(since))
}

// objectName is KIND NAMESPACE/NAME.
func objectName(r mark.Ref) string {
	return r.Kind + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
}

// maxShown is the maximum length of a shown value, in characters.
const maxShown = 200

// shownValue is a value as JSON, on one line and at most maxShown long.
func shownValue(v any, hidden bool) string {
	if hidden {
		return hiddenText
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if utf8.RuneCountInString(text) > maxShown {
		return string([]rune(text)[:maxShown]) + "…"
	}
	return text
}

// WriteAs writes a value as json or as yaml.
func WriteAs(w io.Writer, format string, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	out := text.Bytes()
	if err == nil && format == "yaml" {
		out, err = yaml.JSONToYAML(out)
	}
	if err == nil {
		_, err = w.Write(out)
	}
	if err != nil {
		return fmt.Errorf("write as %s: %w", strings.ToUpper(format), err)
	}
	return nil
}
