package operator

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Removal is the removal of a rule from the parents of one kind. It is safe for concurrent use.
type Removal struct {
	// Program is the rule that stands in for the removed one.
	Program *program.Program
	// Parent is the kind of the parents, and Children says what happens to their children.
	Parent   schema.GroupVersionKind
	Children syntax.RuleDeletion

	mu sync.Mutex
	// begun is true once the parents are known. pending are the parents that are not cleaned up yet. waits is true once
	// FirstWait was called. Guarded by mu.
	begun   bool
	pending queue.Keys
	waits   bool
	// heirs are the parents of other rules that are not reconciled yet since the removal began. Such a rule may render a
	// child of the removed rule, and takes it over then. Guarded by mu.
	heirs queue.Keys
}

// KeepsChildren reports whether nothing is deleted. It is false without a removal.
func (r *Removal) KeepsChildren() bool { return r != nil && r.Children != syntax.DeleteChildren }

// Begin stores the parents to clean up when it is called first, and returns those that are still left: one may have
// been deleted since the removal was interrupted.
func (r *Removal) Begin(keys queue.Keys) (left queue.Keys) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begun, r.pending = true, maps.Clone(keys)
	}
	return maps.Clone(r.pending)
}

// AwaitHeirs makes the removal wait until each of these keys of other rules was reconciled.
func (r *Removal) AwaitHeirs(keys queue.Keys) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heirs = maps.Clone(keys)
}

// Heir returns one of the keys of other rules that the removal waits for. It forgets those whose rule does not run any
// more.
func (r *Removal) Heir(runs func(queue.Key) bool) (k queue.Key, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.heirs, func(k queue.Key, _ bool) bool { return !runs(k) })
	for k := range r.heirs {
		return k, true
	}
	return queue.Key{}, false
}

// HeirsOf returns the keys of another rule that the removal waits for.
func (r *Removal) HeirsOf(rule string) queue.Keys {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := maps.Clone(r.heirs)
	maps.DeleteFunc(found, func(k queue.Key, _ bool) bool { return k.Rule != rule })
	return found
}

// Reconciled records that a key of another rule was reconciled, and reports whether it was the last one to wait for.
func (r *Removal) Reconciled(k queue.Key) (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.heirs[k] {
		return false
	}
	delete(r.heirs, k)
	return len(r.heirs) == 0
}

// FirstWait reports whether this is its first call.
func (r *Removal) FirstWait() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	waited := r.waits
	r.waits = true
	return !waited
}

// Done records that a parent was cleaned up, and reports whether it was the last one.
func (r *Removal) Done(k queue.Key) (finished bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, k)
	return r.begun && len(r.pending) == 0
}

// IsDone reports whether every parent was cleaned up.
func (r *Removal) IsDone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun && len(r.pending) == 0
}
