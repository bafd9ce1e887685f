package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules"
)

// starvedPause is after how long a parent that is being deleted is tried again whose
// evaluation found no memory, unless its turn comes before.
const starvedPause = time.Second

// errNoMemory is what ends a reconcile for which there is no memory now. It is no fault
// of anybody.
var errNoMemory = errors.New("no memory to evaluate the rule now")

// evaluate begins the evaluation of a pass. One that ended for want of memory is tried
// again with as much as it can need.
func (p *pass) evaluate(ctx context.Context, finalizing bool) error {
	if p.evaluation != nil {
		p.evaluation.Close()
	}
	p.evaluation = p.op.program.Evaluate(ctx, rules.Input{
		Parent: p.parent, Now: p.now, Reader: p, Random: rand.Reader, Finalizing: finalizing, Missing: p.op.kinds.missing,
		Memory: p.options.Memory,
	})
	if p.memory == nil || !p.memory.starved {
		return nil
	}
	if err := p.reserve(ctx); err != nil {
		return err
	}
	p.memory.starved = false
	return nil
}

// reserve has the evaluation get as much memory as it can need. One worker waits for
// that, and holds nothing meanwhile, so somebody always goes on; the keys of all others
// go back to the queue, with errNoMemory, and come when it is their turn to wait.
func (p *pass) reserve(ctx context.Context) error {
	if p.evaluation.TryReserve() {
		p.scarcity.forget(p.key)
		return nil
	}
	if !p.scarcity.enter(p.key) {
		return errNoMemory
	}
	err := p.evaluation.Reserve(ctx)
	if next, ok := p.scarcity.leave(); ok {
		p.queue.AddPatient(next)
	}
	return err //nolint:wrapcheck // It says what was waited for.
}

// starved tells whether the evaluation ended for want of memory that all evaluations
// share. Nothing is said about it: the rule can do nothing about it.
func (p *pass) starved(ctx context.Context) bool {
	if !p.evaluation.Starved() {
		return false
	}
	if p.memory != nil {
		p.memory.starved = true
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("The evaluations together need more memory than there is; this one is tried again")
	return true
}

// scarcity says who may wait for memory: one at a time, so that the other workers are free
// for what needs little.
type scarcity struct {
	mu sync.Mutex
	// waits is true while somebody waits, and line has the keys that want to, the first
	// first. Guarded by mu.
	waits bool
	line  []queue.Key
}

// enter tells whether a key may wait now; if not, it is in the line.
func (s *scarcity) enter(k queue.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.line, k)
	switch {
	case s.waits && at < 0:
		s.line = append(s.line, k)
	case !s.waits && at >= 0:
		s.line = slices.Delete(s.line, at, at+1)
	}
	if s.waits {
		return false
	}
	s.waits = true
	return true
}

// leave ends the wait, and says whose turn it is. A key that does not come, as there is
// nothing to do for it any more, keeps nobody else from it.
func (s *scarcity) leave() (next queue.Key, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = false
	if len(s.line) == 0 {
		return queue.Key{}, false
	}
	next = s.line[0]
	s.line = slices.Delete(s.line, 0, 1)
	return next, true
}

// forget takes a key out of the line.
func (s *scarcity) forget(k queue.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.line, k); at >= 0 {
		s.line = slices.Delete(s.line, at, at+1)
	}
}
