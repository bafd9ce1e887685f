package rules

import (
	"cmp"
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
	Message  string   `json:"message"`
	// Missing names the kind that the cluster lacks, when that is what the
	// finding says: the rule can be compiled again once the kind is there.
	Missing *schema.GroupVersionKind `json:"-"`
}

// String gives "file:line:col: severity: message".
func (f Finding) String() string {
	pos := f.Position.String()
	if pos != "" {
		pos += ": "
	}
	return pos + string(f.Severity) + ": " + f.Message
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

// sorted puts findings in the order of their positions and drops repetitions.
func (fs Findings) sorted() Findings {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(a.compare(b.Position), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(fs, func(a, b Finding) bool {
		return a.Position == b.Position && a.Severity == b.Severity && a.Message == b.Message
	})
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
