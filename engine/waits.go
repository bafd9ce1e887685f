package engine

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/queue"
)

// waits are the parents that wait and have no condition to say so: an Event does, once the wait
// has lasted for a while.
type waits struct {
	mu sync.Mutex
	// of has the parents that wait. Guarded by mu.
	of map[queue.Key]wait
}

// wait is what is known of one parent that waits.
type wait struct {
	// uid is the parent's, which may have been deleted and created again since.
	uid types.UID
	// since is when the wait began. told is the reason of the last Event about it, and at when
	// that was emitted; empty and zero: there was none.
	since, at time.Time
	told      string
}

func newWaits() *waits { return &waits{of: make(map[queue.Key]wait)} }

// note takes in that a parent waits for a reason. worth is true where an Event is due: once after
// limit, and again for another reason, but never sooner than limit after the one before. again is
// after what time the parent has to be reconciled for that; zero: no Event is to come.
func (w *waits) note(k queue.Key, uid types.UID, reason string, now time.Time, limit time.Duration) (worth bool, again time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	it, known := w.of[k]
	if !known || it.uid != uid {
		it = wait{uid: uid, since: now}
	}
	defer func() { w.of[k] = it }()
	from := it.since
	if it.told != "" {
		from = it.at
	}
	if it.told == reason {
		return false, 0
	}
	// A clock that was set back makes nobody wait for longer than the limit.
	if again = min(from.Add(limit).Sub(now), limit); again > 0 {
		return false, again
	}
	it.told, it.at = reason, now
	return true, 0
}

// forget drops what is known of a parent that does not wait any more.
func (w *waits) forget(k queue.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, k)
}

func (w *waits) forgetRule(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.of, func(k queue.Key, _ wait) bool { return k.Rule == id })
}

func (w *waits) addKeys(rule string, found queue.Keys) {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue.AddOf(w.of, rule, found)
}

// tell has people know by Events what is in the way of the parent: what somebody has to change
// at once, and what it waits for where that lasts and no condition shows it.
func (p *pass) tell(ctx context.Context, s state) {
	if p.notices.isNew(p.key, p.parent, p.op.program.ConditionPrefix(), s) {
		p.emit(corev1.EventTypeWarning, s)
	}
	if s.condition != conditionReconciling || s.reason == reasonDeleting || p.showsConditions(ctx) {
		p.waits.forget(p.key)
		return
	}
	worth, again := p.waits.note(p.key, p.parent.GetUID(), s.reason, p.options.Clock.Now(), p.options.WaitLimit)
	switch {
	case worth && s.reason == reasonProgressing:
		p.emit(corev1.EventTypeNormal, s) // all that can be done is done
	case worth:
		p.emit(corev1.EventTypeWarning, s)
	case again > 0:
		p.requeueAfter(again)
	}
}

// emit emits the Event about a state of the parent. In a namespace that is being deleted no Event
// can be created, so there it is about the Namespace.
func (p *pass) emit(eventType string, s state) {
	if !p.homeGoes {
		p.notices.event(p.parent, eventType, s.reason, s.message)
		return
	}
	namespace := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: p.parent.GetNamespace()}
	p.notices.event(namespace, eventType, s.reason, fmt.Sprintf("rule %s keeps %s: %s", p.op.name, apply.RefOf(p.parent), s.message))
}

// showsConditions tells whether Kanon's conditions for the rule are on the parent.
func (p *pass) showsConditions(ctx context.Context) bool {
	shape, err := p.conditionsShape(ctx)
	return err == nil && (shape.ListMap || p.places(shape, p.outcome.Status)) && !p.yields
}
