package engine

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/source"
)

// RuleStats are figures of one rule.
type RuleStats struct {
	catalog.Summary

	// Removed is true for a removed rule that is being cleaned up. It has no other figures but Waits.
	Removed bool
	// Waits is true while the removal waits for something that does not happen by itself.
	Waits bool
	// Runs is true while the rule is reconciled, and Ready while it runs as written.
	Runs, Ready bool
	// Parents counts the parents with each condition, of those that the rule selects and that were reconciled.
	Parents map[parents.Condition]int
	// Waiting counts the parents and targets of patches that wait for a worker.
	Waiting int
	// Blocked is true while the prune guard blocks the rule's revision.
	Blocked bool
}

// Stats are figures of the engine as it is now.
type Stats struct {
	Rules     []RuleStats
	Informers []monitor.Stats
}

// Stats collects figures. It visits all objects in memory, so call it only every few seconds.
func (e *Engine) Stats() Stats {
	stats := Stats{Informers: e.monitors.Stats()}
	known := e.known.Load()
	if known == nil {
		return stats
	}
	running, blocked := e.running.Load(), e.guards.blocked()
	for _, summary := range known.rules {
		rule := RuleStats{Summary: summary, Ready: known.ready[summary.ID], Blocked: blocked[summary.ID] != nil}
		if op := running.ByID[summary.ID]; op != nil && op.Removal == nil {
			rule.Runs = true
			rule.Parents = e.parents.Conditions(summary.ID)
			rule.Waiting = e.queue.Waiting(summary.ID)
		}
		stats.Rules = append(stats.Rules, rule)
	}
	for _, op := range running.ByID {
		if op.Removal != nil && !known.removalWaits[op.ID] {
			stats.Rules = append(stats.Rules, RuleStats{Summary: catalog.Summary{ID: op.ID, Name: op.Name}, Removed: true})
		}
	}
	names, _ := e.records.Names()
	for id := range known.removalWaits {
		if name, ok := names[id]; ok {
			stats.Rules = append(stats.Rules, RuleStats{Summary: catalog.Summary{ID: id, Name: name}, Removed: true, Waits: true})
		}
	}
	return stats
}

// noteKnown stores what is known of the rules after an update. reports are the reports that are due.
func (l *catalogLoop) noteKnown(reports map[source.Origin]source.Report) {
	e := l.engine
	before, now := e.known.Load(), &knownRules{rules: l.catalog.Summaries(), ready: make(map[string]bool), removalWaits: l.removals.waiting()}
	for _, summary := range now.rules {
		now.ready[summary.ID] = before != nil && before.ready[summary.ID]
	}
	for _, report := range reports {
		for _, rule := range report.Rules {
			now.ready[rule.ID] = rule.Ready
		}
	}
	e.known.Store(now)
}

// knownRules is what the catalog knew of the rules at its last update.
type knownRules struct {
	rules []catalog.Summary
	// ready has the ids of the rules that ran as written at their last report.
	ready map[string]bool
	// removalWaits has the ids of the rules whose removal waits.
	removalWaits map[string]bool
}

// countWatch counts a list or a watch of an informer.
func (e *Engine) countWatch(resource schema.GroupResource, verb string) {
	if e.options.Counts != nil {
		e.options.Counts.Watched(resource.String(), verb)
	}
}
