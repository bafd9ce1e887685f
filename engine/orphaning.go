package engine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/parents"
)

// noteOrphaning takes in from an event whether a parent is being deleted with orphaning.
func (e *Engine) noteOrphaning(rule string, event monitor.Event) {
	live := event.New.Head()
	switch {
	case live != nil && live.GetDeletionTimestamp() != nil && apply.Has(live, metav1.FinalizerOrphanDependents):
		e.parents.Update(keyAt(rule, event.New), func(s *parents.State) { s.Orphaned = event.New.UID() })
	case event.New == nil && event.Old != nil:
		e.parents.Update(keyAt(rule, event.Old), func(s *parents.State) { s.Orphaned = "" })
	}
}
