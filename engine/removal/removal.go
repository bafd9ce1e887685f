package removal

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
	// Program is that of the rule which stands in for the one that was removed.
	Program *program.Program
	// Parent is the kind of the parents, and Children says what becomes of their children.
	Parent   schema.GroupVersionKind
	Children syntax.RuleDeletion

	mu sync.Mutex
	// begun is true once the parents are known, and pending has those that are not cleaned up yet. waits is true once FirstWait
	// was called. Guarded by mu.
	begun   bool
	pending queue.Keys
	waits   bool
}

// KeepsChildren tells whether nothing is to be deleted. Without a removal it does not apply.
func (r *Removal) KeepsChildren() bool { return r != nil && r.Children != syntax.DeleteChildren }

// Begin notes the parents that are to be cleaned up, the first time, and returns those that still are: one may be gone since the
// removal was interrupted.
func (r *Removal) Begin(keys queue.Keys) (left queue.Keys) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begun, r.pending = true, maps.Clone(keys)
	}
	return maps.Clone(r.pending)
}

// FirstWait is true the first time.
func (r *Removal) FirstWait() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	waited := r.waits
	r.waits = true
	return !waited
}

// Done notes that a parent was cleaned up, and tells whether it was the last one.
func (r *Removal) Done(k queue.Key) (finished bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, k)
	return r.begun && len(r.pending) == 0
}

// IsDone tells whether every parent was cleaned up.
func (r *Removal) IsDone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun && len(r.pending) == 0
}
