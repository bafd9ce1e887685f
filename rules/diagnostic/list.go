package diagnostic

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
