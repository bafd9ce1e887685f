package engine

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/engine/watch"
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
	Parents map[conditions.Condition]int
	// Waiting counts the parents and targets of patches that wait for a worker.
	Waiting int
	// Blocked is true while the prune guard blocks the rule's revision.
	Blocked bool
}

// Stats are figures of the engine as it is now.
type Stats struct {
	Rules     []RuleStats
	Informers []watch.Stats
}

// Stats collects figures. It visits all objects in memory, so call it only every few seconds.
func (e *Engine) Stats() Stats {
	stats := Stats{Informers: e.monitors.Stats()}
	known := e.known.Load()
	if known == nil {
		return stats
	}
	running := e.running.Load()
	for _, summary := range known.rules {
		rule := RuleStats{Summary: summary, Ready: known.ready[summary.ID]}
		if op := running.ByID[summary.ID]; op != nil && op.Removal == nil {
			rule.Runs, rule.Blocked = true, e.guards.blocked(op) != nil
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
	before, now := e.known.Load(), &knownRules{ready: make(map[string]bool), removalWaits: l.removals.waiting()}
	for _, rule := range l.catalog.Rules() {
		now.rules = append(now.rules, rule.Summary)
		now.ready[rule.ID] = before != nil && before.ready[rule.ID]
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

// CheckRules returns an error until the rules of all sources are known. A mistake in a rule is not an error of the
// engine: the report on the rule has it.
func (e *Engine) CheckRules() error {
	if unread := e.unread.Load(); unread > 0 {
		return fmt.Errorf("%d of %d sources of rules have not been read", unread, len(e.options.Sources))
	}
	if !e.taken.Load() {
		return errors.New("the rules have not been compiled")
	}
	if loaded, _ := e.records.IsLoaded(); !loaded && e.leads() {
		return errors.New("the records of rules have not been read")
	}
	return nil
}

// CheckCaches returns an error until the engine knows the objects of all rules. An informer that fails is no error
// here: the reports on the rules that need it say so.
func (e *Engine) CheckCaches() error {
	select {
	case <-e.options.Mapper.Synced():
	default:
		return errors.New("the kinds of the cluster have not been read")
	}
	if filling := e.monitors.Filling(); len(filling) > 0 {
		return fmt.Errorf("%d caches are being filled, such as that of %s", len(filling), filling[0].GVR.GroupResource())
	}
	return nil
}
