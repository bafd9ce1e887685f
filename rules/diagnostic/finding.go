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

// Warnings returns the findings that are warnings.
func (fs Findings) Warnings() Findings {
	return slices.DeleteFunc(slices.Clone(fs), func(f Finding) bool { return f.Severity != SeverityWarning })
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

// List collects findings while a source is read or a rule is compiled.
type List []*Finding

// Report adds a finding and returns it, so that the caller can add a hint.
func (l *List) Report(pos Position, code Code, format string, args ...any) *Finding {
	f := New(pos, code, format, args...)
	*l = append(*l, f)
	return f
}

// Findings returns the findings, sorted and shortened, each with its lines of the source.
func (l List) Findings(source Source) Findings {
	out := make(Findings, len(l))
	for i, f := range l {
		out[i] = *f
	}
	out = out.Sorted().Shortened()
	for i := range out {
		out[i].WithLines(source)
	}
	return out
}

// maxFindings bounds the errors, and the warnings, of one source, so that a hostile document cannot fill a log or a
// status.
const maxFindings = 100

// Shortened keeps the first errors and the first warnings of each source, and adds one summary for each severity with
// the number of the others. It keeps one finding for each missing kind, because a rule is compiled again when the kind
// appears. The findings must be sorted.
func (fs Findings) Shortened() Findings {
	if len(fs) <= maxFindings {
		return fs
	}
	var out Findings
	for len(fs) > 0 {
		file, n := fs[0].File, 0
		for n < len(fs) && fs[n].File == file {
			n++
		}
		out = append(out, fs[:n].shortened()...)
		fs = fs[n:]
	}
	return out
}

// shortened is Shortened for the findings of one source.
func (fs Findings) shortened() Findings {
	if len(fs) <= maxFindings {
		return fs
	}
	kept := make(Findings, 0, 2*maxFindings+2)
	listed := map[Severity]int{}
	rest := map[Severity]*Finding{}
	missing := map[schema.GroupVersionKind]bool{}
	for _, f := range fs {
		isNew := f.Missing != nil && !missing[*f.Missing]
		if f.Missing != nil {
			missing[*f.Missing] = true
		}
		if f.more == 0 && (listed[f.Severity] < maxFindings || isNew) {
			listed[f.Severity]++
			kept = append(kept, f)
			continue
		}
		if rest[f.Severity] == nil {
			rest[f.Severity] = &Finding{Position: f.Position, Text: f.Text, Severity: f.Severity}
		}
		rest[f.Severity].more += max(f.more, 1)
	}
	for severity, code := range map[Severity]Code{SeverityError: CodeMoreErrors, SeverityWarning: CodeMoreWarnings} {
		if f := rest[severity]; f != nil {
			f.Code, f.Message = code, fmt.Sprintf("and %s more %ss", Number(f.more), severity)
			kept = append(kept, *f)
		}
	}
	return kept.Sorted()
}

// Number writes a number with commas: 12,000.
func Number[T int | int64 | uint64](n T) string {
	text := strconv.FormatUint(uint64(n), 10) //nolint:gosec // Sizes and limits are not negative.
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Counted is a number with a noun: 1 rule, 2 rules.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// DidYouMean returns `did you mean "x"?` for the most similar of the names, or "" if none is similar enough.
func DidYouMean(name string, names []string) string {
	if near, ok := Nearest(name, names); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// Nearest returns the name with the smallest distance, if that is small compared with the length of the name.
func Nearest(name string, names []string) (string, bool) {
	best, bestDistance := "", max(1, len(name)/3)+1
	sorted := slices.Sorted(slices.Values(names))
	for _, candidate := range sorted {
		if candidate == name {
			continue
		}
		if d := Distance(name, candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best, best != ""
}

// NearestWord is Nearest, or else the only one of the names with the longest common prefix: children for childs,
// variables for vars.
func NearestWord(name string, names []string) (string, bool) {
	if near, ok := Nearest(name, names); ok {
		return near, true
	}
	best, most, several := "", max(3, len(name)-2), false
	for _, candidate := range names {
		switch n := commonPrefix(name, candidate); {
		case n > most || n == most && best == "":
			best, most, several = candidate, n, false
		case n == most:
			several = true
		}
	}
	return best, best != "" && !several
}

// commonPrefix returns the length of the common prefix of two words, ignoring case.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && lower(a[n]) == lower(b[n]) {
		n++
	}
	return n
}

// Distance returns how many letters must be added, dropped, changed or swapped with the next one to turn a into b
// (optimal string alignment). It ignores case.
func Distance(a, b string) int {
	previous, current, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range current {
		current[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if lower(a[i-1]) == lower(b[j-1]) {
				change = 0
			}
			next[j] = min(current[j]+1, next[j-1]+1, current[j-1]+change)
			if i > 1 && j > 1 && lower(a[i-1]) == lower(b[j-2]) && lower(a[i-2]) == lower(b[j-1]) {
				next[j] = min(next[j], previous[j-2]+1)
			}
		}
		previous, current, next = current, next, previous
	}
	return current[len(b)]
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
