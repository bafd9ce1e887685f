package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// maxReport bounds the text of one rule's report, in bytes. All annotations of an object together may have 256 KiB,
// and the first findings matter most.
const maxReport = 8 << 10

// maxReports bounds the text of all rules of one origin together, in bytes.
const maxReports = 128 << 10

// Failure says why a rule that compiled does not run as written.
type Failure struct {
	// Reason is a word such as DefinitionTaken; may be empty.
	Reason  string
	Message string
}

// Reports returns the reports that are due now. An origin that waits for something, such as a definition that is
// being installed, has none during its grace period. again is after how long to call Reports again even if nothing
// changes; zero: never. starting has the ids of the rules that are starting, and failing says, by id, why a rule does
// not run.
func (c *Catalog) Reports(starting map[string]bool, failing map[string]Failure, now time.Time) (due map[source.Origin]source.Report, again time.Duration) {
	reports := c.allReports(failing)
	waiting := c.waiting(starting)
	c.grace.keep(waiting)
	for origin := range waiting {
		over, left := c.grace.isOver(origin, now)
		if again == 0 || left < again {
			again = left
		}
		if !over {
			delete(reports, origin)
		}
	}
	for _, r := range c.byName {
		if t := c.texts[r.text]; t != nil && r.lacksKinds() && len(reports[t.origin].Rules) > 0 {
			r.reportedMissing = r.newest
		}
	}
	return reports, again
}

// waiting returns the origins with something pending.
func (c *Catalog) waiting(starting map[string]bool) map[source.Origin]bool {
	waiting := make(map[source.Origin]bool)
	for name, t := range c.texts {
		if c.definitions.isPending(name) {
			waiting[t.origin] = true
		}
	}
	for _, r := range c.byName {
		if t := c.texts[r.text]; t != nil && (r.due && c.definitions.failure(r.newest) == nil || starting[r.id] || r.lacksKinds() && r.reportedMissing != r.newest) {
			waiting[t.origin] = true
		}
	}
	return waiting
}

func (c *Catalog) allReports(failing map[string]Failure) map[source.Origin]source.Report {
	running, places := make(map[string]*syntax.Rule), make(map[string]string)
	for _, r := range c.byName {
		if c.runnable(r) != nil {
			running[r.id], places[r.id] = r.good, r.name.Namespace
		}
	}
	c.clashes.update(running, places)
	ruleReports := make(map[source.Origin][]source.RuleReport)
	for _, r := range c.byName {
		if t := c.texts[r.text]; t != nil {
			ruleReports[t.origin] = append(ruleReports[t.origin], c.reportRule(r, t, failing[r.id]))
		}
	}
	problems := c.problems()
	reports := make(map[source.Origin]source.Report, len(c.origins))
	for origin := range c.origins {
		reports[origin] = reportOrigin(ruleReports[origin], problems[origin])
	}
	return reports
}

// problems returns what is wrong with origins and belongs to no single rule.
func (c *Catalog) problems() map[source.Origin][]string {
	problems := make(map[source.Origin][]string)
	for origin := range c.origins {
		problems[origin] = []string{"no key of it ends in .yaml or .yml: it has no rule documents"}
	}
	for _, t := range c.texts {
		delete(problems, t.origin)
	}
	errs := c.definitions.errs()
	for _, name := range slices.Sorted(maps.Keys(c.texts)) {
		t := c.texts[name]
		for _, f := range slices.Concat(t.findings, t.conflicts).Sorted().Shortened() {
			problems[t.origin] = append(problems[t.origin], f.String())
		}
		if err := errors.Join(t.err, errs[name]); err != nil {
			problems[t.origin] = append(problems[t.origin], name+": error: "+err.Error())
		}
	}
	return problems
}

func (c *Catalog) reportRule(r *revisions, t *text, failure Failure) source.RuleReport {
	report := source.RuleReport{Name: r.name.Name, ID: r.id, Waiting: r.lacksKinds()}
	lines := slices.Concat(c.clashes.lines(r.id, c.schemas), c.definitions.clashes[r.newest])
	slices.Sort(lines)
	lines = slices.Compact(lines)
	blocked := c.definitions.failure(r.newest)
	switch {
	case !slices.Contains(t.docs.Rules, r.newest):
		report.Message = "its document cannot be read, because of the mistakes that the message names" + c.keepsRunning(r)
	case blocked != nil:
		report.Reason, report.Message = blocked.Reason, strings.Join(append([]string{blocked.Message}, lines...), "\n")+c.keepsRunning(r)
	case r.compiled != r.newest:
		report.Message = "waiting for " + r.waits + c.keepsRunning(r)
	case r.findings.HasErrors():
		report.Warnings = strings.Join(linesOf(r.findings.Warnings()), "\n")
		report.Message = strings.Join(linesOf(r.findings), "\n") + c.keepsRunning(r)
	case c.lacksParentKind(r):
		parent := r.program.Parent.GVK
		report.Message = fmt.Sprintf("stopped: the cluster has no kind %s in %s any more; the rule goes on when it is back",
			parent.Kind, parent.GroupVersion()) + c.keepsRunning(r)
	case c.isSuspended(r):
		report.Ready = true
		report.Message = source.MessageSuspended
		if !r.good.Suspend {
			report.Message = source.MessageSuspendedByRecord
		}
	case failure.Message != "":
		report.Reason, report.Message = failure.Reason, failure.Message
	default:
		report.Ready, report.Warnings = true, strings.Join(linesOf(r.findings.Warnings()), "\n")
		report.Message = cmp.Or(strings.Join(append(linesOf(r.findings), lines...), "\n"), "running")
		if r.due {
			report.Message = "to be checked again: waiting for " + r.waits + "\n" + report.Message
		}
	}
	return report
}

// keepsRunning adds to a report that an earlier revision runs, or that people have suspended the rule.
func (c *Catalog) keepsRunning(r *revisions) string {
	switch {
	case c.annotationsOf(r).Suspended:
		return "\n" + source.MessageSuspendedByRecord
	case r.unfit:
		return "\nstopped, because the scope of a kind has changed; the objects of the rule stay as they are"
	case c.runnable(r) == nil:
		return ""
	default:
		return "\nthe last good revision keeps running"
	}
}

func reportOrigin(ruleReports []source.RuleReport, problems []string) source.Report {
	slices.SortFunc(ruleReports, func(a, b source.RuleReport) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	limit := min(maxReport, maxReports/max(1, len(ruleReports)))
	var failing []string
	for i := range ruleReports {
		r := &ruleReports[i]
		r.Message = clip(r.Message, limit)
		if !r.Ready {
			failing = append(failing, r.Name)
		}
	}
	report := source.Report{Rules: ruleReports, Problems: problems, Ready: len(problems) == 0 && len(failing) == 0}
	switch {
	case len(problems) > 0:
		report.Message = clip(strings.Join(problems, "\n"), maxReport)
	case len(failing) > 0:
		report.Message = fmt.Sprintf("%d of %d rules are not running as written: %s", len(failing), len(ruleReports), strings.Join(failing, ", "))
	case len(ruleReports) == 0:
		report.Message = "no rules"
	default:
		report.Message = fmt.Sprintf("rules in force: %d", len(ruleReports))
	}
	return report
}

func linesOf(findings diagnostic.Findings) []string {
	lines := make([]string, len(findings))
	for i, f := range findings {
		lines[i] = f.String()
	}
	return lines
}

// clip shortens a text to limit bytes, at the end of a line if possible.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := strings.LastIndexByte(text[:limit], '\n')
	if cut < 0 {
		cut = limit
	}
	return strings.ToValidUTF8(text[:cut], "") + "\n…"
}
