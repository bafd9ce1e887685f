package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules/syntax"
)

// reasonRemovalWaits is the reason of the Events about a removal that waits.
const reasonRemovalWaits = "RemovalWaits"

// recheckPauses times Options.WaitLimit is how often the records are read again while a removal waits: somebody may
// have deleted one so that Kanon forgets the rule.
const recheckPauses = 5

// removals are the removals of rules that wait for something that does not happen by itself, by the rules' ids.
type removals struct {
	since map[string]time.Time
	// reported has the reasons of the removals that have waited for Options.WaitLimit.
	reported map[string]string
	// rechecked is when the records were last read again.
	rechecked time.Time
}

// waiting returns the ids of the rules whose removal is reported as waiting.
func (r *removals) waiting() map[string]bool {
	ids := make(map[string]bool, len(r.reported))
	for id := range r.reported {
		ids[id] = true
	}
	return ids
}

// reportRemovals reports why a removal has waited for long: in the rule's record, the log and an Event. It returns when
// to call it again; zero means never.
func (l *catalogLoop) reportRemovals(ctx context.Context, now time.Time) (again time.Duration) {
	e, r := l.engine, &l.removals
	if !e.leads() {
		return 0
	}
	waits := l.removalWaits()
	for id := range r.since {
		if _, still := waits[id]; !still {
			delete(r.since, id)
			delete(r.reported, id)
			e.records.Note(id, func(r *record.Record) { r.Removal = "" })
		}
	}
	for _, id := range slices.Sorted(maps.Keys(waits)) {
		since, ok := r.since[id]
		if !ok {
			since = now
			r.since[id] = since
		}
		if left := e.options.WaitLimit - now.Sub(since); left > 0 {
			again = soonest(again, left)
			continue
		}
		l.reportRemoval(ctx, id, waits[id])
	}
	if len(r.reported) == 0 {
		r.rechecked = time.Time{}
		return again
	}
	pause := recheckPauses * e.options.WaitLimit
	if r.rechecked.IsZero() {
		r.rechecked = now
	}
	if now.Sub(r.rechecked) >= pause {
		r.rechecked = now
		e.records.Recheck()
	}
	return soonest(again, pause-now.Sub(r.rechecked))
}

// soonest returns the shorter of two durations; zero means none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// reportRemoval reports that a removal waits, unless that was reported before.
func (l *catalogLoop) reportRemoval(ctx context.Context, id, why string) {
	e := l.engine
	if before, ok := l.removals.reported[id]; ok && before == why {
		return
	}
	stored, ok := e.records.Get(id)
	if !ok {
		return // the record is being written; that calls this again
	}
	l.removals.reported[id] = why
	configMap := types.NamespacedName{Namespace: e.options.Namespace, Name: record.NamePrefix + id}
	message := fmt.Sprintf("%s. Once that is put right, the removal goes on. To give it up, delete ConfigMap %s: "+
		"Kanon forgets the rule, and leaves its objects and its finalizers as they are", why, configMap)
	e.records.Note(id, func(r *record.Record) { r.Removal = message })
	logr.FromContextOrDiscard(ctx).Info("The removal of a rule waits", "rule", stored.Rule, "reason", why, "record", configMap.String())
	about := []*corev1.ObjectReference{e.records.Reference(id)}
	if stored.Confined {
		about = append(about, referenceOf(stored.Origin))
	}
	for _, object := range about {
		if object != nil {
			e.options.Recorder.Event(object, corev1.EventTypeWarning, reasonRemovalWaits,
				conditions.Cut("The removal of rule "+stored.Rule+" waits: "+message, conditions.MaxEventMessage))
		}
	}
}

// referenceOf returns a reference to the object with the text of a tenant's rule, for Events that the tenant may read.
func referenceOf(o record.Origin) *corev1.ObjectReference {
	if o.Rule != "" {
		return &corev1.ObjectReference{APIVersion: source.RulesGVR().GroupVersion().String(), Kind: syntax.RuleKind, Namespace: o.Namespace, Name: o.Rule}
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: o.Namespace, Name: o.ConfigMap}
}

// removalWaits returns, by the rules' ids, what removals wait for, unless it happens by itself.
func (l *catalogLoop) removalWaits() map[string]string {
	e, waits := l.engine, maps.Clone(l.planner.Doubts())
	if waits == nil {
		waits = make(map[string]string)
	}
	for id, op := range e.running.Load().ByID {
		if op.Removal == nil {
			continue
		}
		if why := e.removalWait(op); why != "" {
			waits[id] = why
		}
	}
	return waits
}

// removalWait returns what the removal of a rule waits for; empty if nothing blocks it.
func (e *Engine) removalWait(op *operator.Operator) string {
	for _, key := range op.Informers() {
		if err := e.monitors.Failure(key); err != nil && !e.monitors.HasSynced(key) {
			return err.Error()
		}
	}
	if k, waits := e.guards.heirOf(op); waits {
		of := "all of its parents"
		if k.Parent.Name != "" {
			of = "its parent " + k.Parent.String()
		}
		return fmt.Sprintf("rule %s has not reconciled %s yet, and may want the children", e.running.NameOf(k.Rule), of)
	}
	if why, parents := e.parents.Denied(op.ID); parents > 0 {
		return why
	}
	if err := e.records.Failure(op.ID); err != nil {
		return err.Error()
	}
	return ""
}
