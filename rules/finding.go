package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Severity says whether a finding keeps a rule from running.
type Severity string

const (
	// SeverityError marks a finding that keeps its rule from being compiled.
	SeverityError Severity = "error"
	// SeverityWarning marks a finding that the author should look at.
	SeverityWarning Severity = "warning"
)

// Finding is something wrong in a rule, with the place where it stands.
type Finding struct {
	Position `json:",inline"`
	Severity Severity `json:"severity"`
	// Code says what the finding is about, for docs/findings.md.
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Hint says what to write instead, where something is known.
	Hint string `json:"hint,omitempty"`
	// Text is the line of the source that Position names.
	Text string `json:"-"`
	// Missing names the kind that the cluster lacks, when that is what the
	// finding says: the rule can be compiled again once the kind is there.
	Missing *schema.GroupVersionKind `json:"-"`
	// more is for how many findings this one stands.
	more int
}

// String gives "file:line:col: severity: message; hint [code]" in one line. See
// Printer for the form that shows the place.
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

// newFinding makes a finding whose line is not known yet.
func newFinding(pos Position, code Code, format string, args ...any) *Finding {
	return &Finding{Position: pos, Severity: code.severity(), Code: code, Message: fmt.Sprintf(format, args...)}
}

// hint adds what to write instead; an empty format adds nothing.
func (f *Finding) hint(format string, args ...any) {
	f.Hint = fmt.Sprintf(format, args...)
}

// Findings are all that was found in a source or in a rule, sorted by position.
type Findings []Finding

// HasErrors says whether one of them is an error.
func (fs Findings) HasErrors() bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Severity == SeverityError })
}

// Err is nil without errors, else a *FindingsError that holds all findings.
func (fs Findings) Err() error {
	if !fs.HasErrors() {
		return nil
	}
	return &FindingsError{Findings: fs}
}

// MissingKinds lists the kinds that the cluster lacks, each once, in the order
// of the findings.
func (fs Findings) MissingKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, f := range fs {
		if f.Missing != nil && !slices.Contains(kinds, *f.Missing) {
			kinds = append(kinds, *f.Missing)
		}
	}
	return kinds
}

// Sorted puts findings in the order of their positions and drops repetitions. It
// works in place.
func (fs Findings) Sorted() Findings {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(a.compare(b.Position), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(fs, func(a, b Finding) bool {
		return a.Position == b.Position && a.Code == b.Code && a.Message == b.Message
	})
}

// maxFindings is how many errors, and how many warnings, of a source are told one by
// one.
const maxFindings = 100

// Shortened keeps of sorted findings the first errors and warnings of each source, and
// says of the others how many there are. A kind that is missing is kept once for each
// kind.
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
	told := map[Severity]int{}
	rest := map[Severity]*Finding{}
	missing := map[schema.GroupVersionKind]bool{}
	for _, f := range fs {
		isNew := f.Missing != nil && !missing[*f.Missing]
		if f.Missing != nil {
			missing[*f.Missing] = true
		}
		if f.more == 0 && (told[f.Severity] < maxFindings || isNew) {
			told[f.Severity]++
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
			f.Code, f.Message = code, fmt.Sprintf("and %s more %ss", figure(f.more), severity)
			kept = append(kept, *f)
		}
	}
	return kept.Sorted()
}

// Count is for how many findings a finding stands: 1, unless it says that there are
// more.
func (f Finding) Count() int { return max(f.more, 1) }

// findingList are the findings of a source or a rule while it is read.
type findingList []*Finding

// finish puts the findings in order and gives each its line.
func (l findingList) finish(src *source) Findings {
	out := make(Findings, len(l))
	for i, f := range l {
		out[i] = *f
	}
	out = out.Sorted().Shortened()
	for i := range out {
		out[i].Text = src.lineAt(out[i].Position)
	}
	return out
}

// FindingsError is the error form of findings of which one at least is an error.
type FindingsError struct {
	Findings Findings
}

// Error gives one finding a line.
func (e *FindingsError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}
