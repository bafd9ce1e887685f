package engine

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// Remembered counts, by store, what the engine remembers of parents and targets in a
// namespace.
func (e *Engine) Remembered(namespace string) map[string]int {
	sizes := make(map[string]int)
	count := func(store string, keys queue.Keys) {
		for k := range keys {
			if k.Parent.Namespace == namespace {
				sizes[store]++
			}
		}
	}
	e.parents.UpdateAll(func(k queue.Key, s *conditions.State) {
		if k.Patch != "" && s.Conflicts == nil {
			return // what led to the last writes of a target may come back with another parent; it expires
		}
		count("parents", queue.Keys{k: true})
		if s.Chain != nil {
			count("chains", queue.Keys{k: true})
		}
		if s.Conflicts != nil {
			count("conflicts", queue.Keys{k: true})
		}
	})
	borrowed := e.readers.Borrowers(operator.AllNamespaces)
	defer func() { count("borrowed", borrowed) }()
	for _, rule := range e.running.Load().ByID {
		for _, lookup := range rule.Lookups {
			if lookup.Borrowed {
				lookup.Informer.Namespace = namespace
				maps.Copy(borrowed, e.readers.Borrowers(lookup.Informer))
			}
		}
		found := make(queue.Keys)
		e.readers.AddKeys(rule.ID, found)
		count("readers", found)
		clear(found)
		e.patches.AddKeys(rule.ID, found)
		count("contributions", found)
	}
	return sizes
}

// Failures counts the failures in a row of the parents with a name.
func (e *Engine) Failures(parent string) int {
	n := 0
	e.parents.UpdateAll(func(k queue.Key, _ *conditions.State) {
		if e.running.Load().ByID[k.Rule] != nil && k.Parent.Name == parent {
			n += e.queue.NumRequeues(k)
		}
	})
	return n
}

// NotesDeletion tells whether the engine takes what happens to an object for what follows
// from its own deletion of it.
func (e *Engine) NotesDeletion(uid types.UID) bool {
	return e.feedback.CauseOf(feedback.Change{Version: feedback.Version{UID: uid}}) != nil
}
