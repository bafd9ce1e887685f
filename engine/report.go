package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
)

// maxReport bounds the text of one rule's report, in bytes: all annotations of
// an object together may hold 256 KiB, and the first findings matter most.
const maxReport = 8 << 10

// maxReports bounds the text of all rules of one origin together.
const maxReports = 128 << 10

// reports gives the verdict on every origin. crdErrors holds, by the name of
// the text, why a CustomResourceDefinition in it could not be applied, and
// failing, by the rule's id, why a rule that runs cannot start.
func (c *catalog) reports(crdErrors map[string]error, failing map[string]string) map[source.Origin]source.Report {
	c.clashes.update(c)
	reports := make(map[source.Origin]source.Report)
	problems := make(map[source.Origin][]string)
	for origin := range c.origins {
		reports[origin] = source.Report{}
		problems[origin] = []string{"no key of it ends in .yaml or .yml: it holds no documents"}
	}
	for _, state := range c.texts {
		delete(problems, state.origin)
	}
	for _, name := range slices.Sorted(maps.Keys(c.texts)) {
		state := c.texts[name]
		for _, f := range slices.Concat(state.findings, state.conflicts).Sorted().Shortened() {
			problems[state.origin] = append(problems[state.origin], f.String())
		}
		if err := errors.Join(state.unfit, crdErrors[name]); err != nil {
			problems[state.origin] = append(problems[state.origin], name+": error: "+err.Error())
		}
	}
	for _, e := range c.entries {
		if state, ok := c.texts[e.text]; ok {
			report := reports[state.origin]
			report.Rules = append(report.Rules, c.reportRule(e, state, failing[e.id]))
			reports[state.origin] = report
		}
	}
	for origin, report := range reports {
		slices.SortFunc(report.Rules, func(a, b source.RuleReport) int { return cmp.Compare(a.Name, b.Name) })
		limit := min(maxReport, maxReports/max(1, len(report.Rules)))
		for i := range report.Rules {
			report.Rules[i].Message = clip(report.Rules[i].Message, limit)
		}
		report.Problems = problems[origin]
		report.Ready, report.Message = summarize(report.Rules, report.Problems)
		reports[origin] = report
	}
	return reports
}

// reportRule says how one rule fares.
func (c *catalog) reportRule(e *entry, state *textState, failure string) source.RuleReport {
	report := source.RuleReport{Name: e.name.Name, ID: e.id}
	switch {
	case !slices.Contains(state.docs.Rules, e.newest):
		report.Message = "its document cannot be read, because of the mistakes that the message names" + c.runsOn(e)
	case e.compiled != e.newest:
		report.Message = "waiting for " + e.waits + c.runsOn(e)
	case e.findings.HasErrors():
		report.Message = textOf(e.findings) + c.runsOn(e)
	case c.isParentMissing(e):
		parent := e.program.Parent().GVK
		report.Message = fmt.Sprintf("stopped: the cluster has no kind %s in %s any more; the rule goes on when it is back",
			parent.Kind, parent.GroupVersion())
	case e.good.Suspend:
		report.Ready = true
		report.Message = "suspended: nothing is written"
	case failure != "":
		report.Message = failure
		if strings.HasPrefix(failure, conditions.ReasonPruneHeld) {
			report.Reason = conditions.ReasonPruneHeld
			if state.origin.Path != "" {
				what, why, _ := strings.Cut(failure, "\n")
				report.Message = what + "; it goes to metadata.annotations of the rule in " + state.origin.Path + "\n" + why
			}
		}
	default:
		report.Ready = true
		report.Message = cmp.Or(strings.Join(append(linesOf(e.findings), c.clashes.linesOf(e.id, c.options.Schemas)...), "\n"), "running")
		if e.due {
			report.Message = "to be checked again: waiting for " + e.waits + "\n" + report.Message
		}
	}
	return report
}

// runsOn says that an earlier revision is in force, where one is.
func (c *catalog) runsOn(e *entry) string {
	if c.runnable(e) == nil {
		return ""
	}
	return "\nthe last good revision keeps running"
}

// summarize is the verdict on an origin as a whole.
func summarize(ruleReports []source.RuleReport, problems []string) (ready bool, message string) {
	var failing []string
	for _, r := range ruleReports {
		if !r.Ready {
			failing = append(failing, r.Name)
		}
	}
	switch {
	case len(problems) > 0:
		return false, clip(strings.Join(problems, "\n"), maxReport)
	case len(failing) > 0:
		return false, fmt.Sprintf("%d of %d rules are not running as written: %s", len(failing), len(ruleReports), strings.Join(failing, ", "))
	case len(ruleReports) == 0:
		return true, "no rules"
	default:
		return true, fmt.Sprintf("rules in force: %d", len(ruleReports))
	}
}

func textOf(findings rules.Findings) string { return strings.Join(linesOf(findings), "\n") }

func linesOf(findings rules.Findings) []string {
	lines := make([]string, len(findings))
	for i, f := range findings {
		lines[i] = f.String()
	}
	return lines
}

// clip shortens a text to limit bytes, at the end of a line where it has one.
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
