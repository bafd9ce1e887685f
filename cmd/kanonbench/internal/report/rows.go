package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// row is a line of the table.
type row struct {
	title  string
	phase  Phase
	unit   string
	format func(float64) string
	// ratio and limit are targets, of which at most one is set: the maximum ratio to the handwritten operator, or the
	// maximum of the number itself.
	ratio, limit *float64
}

// rows are the lines of the table for a load. For large children, they are only those about memory.
func rows(load Load) []row {
	all := allRows(load)
	if load.Patch != "" {
		return patchRows(load, all)
	}
	if load.Size == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(r row) bool { return r.phase != Restart && r.phase != Rest && r.unit != Empty })
}

// patchRows are the lines for a load of patches. An object takes at most one write, and fewer if many parents share it.
// Memory has no target.
func patchRows(load Load, all []row) []row {
	for i := range all {
		switch r := &all[i]; {
		case r.unit == Writes:
			r.limit = new(1.0)
		case r.unit == Empty, r.phase == Delete && r.unit == AllWrites:
			r.limit = nil
		}
		if load.Patch == "selected" {
			all[i].title = strings.ReplaceAll(all[i].title, "parent", "object")
		}
	}
	return all
}

func allRows(load Load) []row {
	one := new(1.0)
	none := new(0.0)
	perParent := func(what string, phase Phase, writes float64) []row {
		return []row{
			{title: "– writes per parent" + what, phase: phase, unit: Writes, format: plain, limit: new(writes)},
			{title: "– reads per parent" + what, phase: phase, unit: Reads, format: plain, limit: none},
		}
	}
	return slices.Concat(
		work("new parents", New), perParent("", New, float64(load.Children+2)), // the children, the status and an Event
		work("change of all", Change), perParent("", Change, float64(load.Children-1)),
		work("drift of half repaired", Drift), perParent(" that drifted", Drift, 2),
		work("deletion of all", Delete), []row{
			{title: "– writes", phase: Delete, unit: AllWrites, format: plain, limit: none},
			{title: "one new parent, median", phase: One, unit: Median, format: seconds, ratio: one},
			{title: "one new parent, p99", phase: One, unit: Worst, format: seconds, ratio: one},
			{title: "restart, all in place: until ready", phase: Restart, unit: Time, format: seconds, limit: new(5.0)},
			{title: "– CPU of the engine", phase: Restart, unit: CPU, format: seconds},
			{title: "– writes", phase: Restart, unit: AllWrites, format: plain, limit: none},
			{title: "– reads", phase: Restart, unit: AllReads, format: plain},
			{title: "– watches that begin", phase: Restart, unit: Watches, format: plain},
			{title: "at rest: requests per minute", phase: Rest, unit: Requests, format: plain, limit: none},
			{title: "at rest: CPU per minute", phase: Rest, unit: CPUMinute, format: seconds, limit: new(0.1)},
			{title: "another rule beside them in churn, median", phase: Beside, unit: Median, format: seconds},
			{title: "another rule beside them in churn, p99", phase: Beside, unit: Worst, format: seconds, limit: new(0.1)},
			{title: "– the answer to the change itself, median", phase: Beside, unit: AnswerMedian, format: seconds},
			{title: "– the answer to the change itself, p99", phase: Beside, unit: AnswerWorst, format: seconds},
			{title: "– writes per second, of both", phase: Beside, unit: Rate, format: plain},
			{title: "memory of an empty process", phase: New, unit: Empty, format: mebibytes, limit: emptyLimit(load)},
			{title: "memory at rest, after a restart", phase: Restart, unit: Resident, format: mebibytes},
			{
				title: "– per 1,000 parents, beyond the empty process", phase: Restart, unit: PerParent,
				format: func(b float64) string { return mebibytes(1000 * b) }, limit: perParentLimit(load),
			},
			{title: "memory, peak of a start", phase: Restart, unit: Peak, format: mebibytes},
			{title: "memory at rest, after all that", phase: Rest, unit: Resident, format: mebibytes},
			{title: "memory, peak", phase: Rest, unit: Peak, format: mebibytes},
		})
}

// work are the lines for the time and the cost of a phase.
func work(title string, phase Phase) []row {
	return []row{
		{title: title, phase: phase, unit: Time, format: seconds, ratio: new(1.0)},
		{title: "– CPU of the engine", phase: phase, unit: CPU, format: seconds, ratio: new(1.25)},
		{title: "– CPU of the control plane", phase: phase, unit: ServerCPU, format: seconds},
		{title: "– memory that the API server allocates", phase: phase, unit: Allocated, format: mebibytes},
	}
}

// emptyLimit is the maximum memory of Kanon without parents. It applies to one rule.
func emptyLimit(load Load) *float64 {
	if load.Kinds > 1 {
		return nil
	}
	return new(50.0 * (1 << 20))
}

// perParentLimit is the maximum memory of Kanon per parent. It applies to parents with three children of normal size.
func perParentLimit(load Load) *float64 {
	if load.Children != 3 || load.Size > 0 || load.isSmall() {
		return nil
	}
	return new(10.0 * (1 << 20) / 1000)
}

func seconds(s float64) string {
	if s < 0.1 {
		return fmt.Sprintf("%.1f ms", s*float64(time.Second/time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", s)
}

// plain formats a number with four significant digits, or as an integer from 1,000 on.
func plain(n float64) string {
	if n >= 1000 {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.4g", n)
}

func mebibytes(b float64) string { return fmt.Sprintf("%.1f MiB", b/(1<<20)) }
