package diagnostic

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Severity says whether a rule with the finding can run.
type Severity string

const (
	// SeverityError marks a finding because of which a rule does not compile.
	SeverityError Severity = "error"
	// SeverityWarning marks a finding that the author should see; the rule runs nevertheless.
	SeverityWarning Severity = "warning"
)

// Finding is a mistake in a rule, with its position.
type Finding struct {
	Position `json:",inline"`
	Severity Severity `json:"severity"`
	// Code is the kind of mistake, as docs/reference/findings lists them.
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Hint says what to write instead. It may be empty.
	Hint string `json:"hint,omitempty"`
	// Fix has the edits that correct it; nil if there is no mechanical correction.
	Fix *Fix `json:"fix,omitempty"`
	// Length is how many characters of the line the finding is about; 0 if only the position is known.
	Length int `json:"length,omitempty"`
	// Related has other places that the finding is about.
	Related []Related `json:"related,omitempty"`
	// Text is the line at Position, without hidden parts.
	Text string `json:"-"`
	// Missing is the kind that the cluster lacks, if that is the mistake. The rule can compile as soon as the kind exists.
	Missing *schema.GroupVersionKind `json:"-"`
	// more is the number of findings that a summary stands for; 0 if this is not a summary.
	more int
}

// Related is another place that a finding is about, such as the first of two children with the same name.
type Related struct {
	Position `json:",inline"`
	// Length is how many characters of the line the finding is about; 0 if only the position is known.
	Length int `json:"length,omitempty"`
	// Label describes the place in a few words.
	Label string `json:"label"`
	// Text is the line at Position, without hidden parts.
	Text string `json:"-"`
}

// String returns "file:line:col: severity: message; hint [code]" on one line. A Printer shows the line of the source
// too.
func (f Finding) String() string {
	var b strings.Builder
	if pos := f.Position.String(); pos != "" {
		b.WriteString(pos + ": ")
	}
	b.WriteString(string(f.Severity) + ": " + f.Message)
	if f.Hint != "" {
		b.WriteString("; " + f.Hint)
	}
	if f.Code != "" {
		b.WriteString(" [" + string(f.Code) + "]")
	}
	return b.String()
}

// New returns a finding with the severity of its code. [List.Findings] adds the lines of the source.
func New(pos Position, code Code, format string, args ...any) *Finding {
	return &Finding{Position: pos, Severity: code.severity(), Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint sets what to write instead.
func (f *Finding) WithHint(format string, args ...any) {
	f.Hint = fmt.Sprintf(format, args...)
}

// WithRelated adds another place that the finding is about. It ignores the zero position.
func (f *Finding) WithRelated(pos Position, format string, args ...any) *Finding {
	if pos != (Position{}) {
		f.Related = append(f.Related, Related{Position: pos, Label: fmt.Sprintf(format, args...)})
	}
	return f
}

// About sets whether a finding is about the word at its position. If it is not, as for a mapping that begins with that
// word, the finding spans only one character.
func (f *Finding) About(word bool) *Finding {
	if !word {
		f.Length = 1
	}
	return f
}

// Source is the text that findings are about.
type Source interface {
	// LineAt returns the line of a position.
	LineAt(at Position) string
	// ShownAt returns the line with hidden parts replaced, such as the value of a Secret. Columns stay the same.
	ShownAt(at Position) string
	// SpanAt returns the number of characters of the name or value that begins at the position; 0 if it is not known.
	SpanAt(at Position) int
}

// WithLines adds the lines of the source that the finding is about, and its length.
func (f *Finding) WithLines(source Source) *Finding {
	f.Text = source.ShownAt(f.Position)
	f.Fix = f.Fix.settled(source.LineAt)
	if f.Length == 0 {
		f.Length = source.SpanAt(f.Position)
	}
	for i := range f.Related {
		if r := &f.Related[i]; r.File == f.File {
			r.Text, r.Length = source.ShownAt(r.Position), source.SpanAt(r.Position)
		}
	}
	return f
}

// Count returns the number of findings that a finding stands for: 1, or more for a summary.
func (f Finding) Count() int { return max(f.more, 1) }

// Findings are the findings of a source or of a rule, sorted by position.
type Findings []Finding

// HasErrors reports whether some finding is an error.
func (fs Findings) HasErrors() bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Severity == SeverityError })
}

// Err returns a *FindingsError with all findings if some finding is an error; else nil.
func (fs Findings) Err() error {
	if !fs.HasErrors() {
		return nil
	}
	return &FindingsError{Findings: fs}
}

// Sorted sorts findings by position and drops duplicates. It works in place.
func (fs Findings) Sorted() Findings {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(a.compare(b.Position), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(fs, func(a, b Finding) bool {
		return a.Position == b.Position && a.Code == b.Code && a.Message == b.Message
	})
}

// FindingsError has findings of which at least one is an error.
type FindingsError struct {
	Findings Findings
}

// Error returns one line for each finding.
func (e *FindingsError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Position is a place in a source. Line and Column count from 1; Column counts characters, not bytes. A zero Line means
// that only the file is known, or that the source is an object, which has no lines.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Path is the path in an object: spec.children[1].template.kind. For text of several lines, the line follows. It is
	// empty in a file.
	Path string `json:"path,omitempty"`
}

// String returns file:line:col, or the object and the path. It omits unknown parts.
func (p Position) String() string {
	s := p.File
	if p.Path != "" {
		s += ": " + p.Path
	}
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			s += ":" + strconv.Itoa(p.Column)
		}
	}
	return s
}

// ByteOf returns the byte of a line, or of another text, that follows so many characters; its length if it has fewer.
func ByteOf(line string, characters int) int {
	for i := range line {
		if characters <= 0 {
			return i
		}
		characters--
	}
	return len(line)
}

// compare orders positions by file, line and column.
func (p Position) compare(o Position) int {
	return cmp.Or(
		cmp.Compare(p.File, o.File),
		cmp.Compare(p.Line, o.Line),
		cmp.Compare(p.Column, o.Column),
		cmp.Compare(p.Path, o.Path),
	)
}
