package readers

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
)

// Borrowed are the informers that no rule asks for when it starts: which ones are
// needed turns out when a parent reads through one, as with the Secrets of the
// parent's namespace. The first parent that reads starts it, and it is stopped
// when the last one reads through it no more.
type Borrowed struct {
	monitors *monitor.Monitors

	mu sync.Mutex
	// users has who reads through each informer, and uses the same by reader.
	// Guarded by mu.
	users map[monitor.Key]queue.Keys
	uses  map[queue.Key]map[monitor.Key]bool
}

// NewBorrowed makes a set of none, of these monitors.
func NewBorrowed(monitors *monitor.Monitors) *Borrowed {
	return &Borrowed{monitors: monitors, users: make(map[monitor.Key]queue.Keys), uses: make(map[queue.Key]map[monitor.Key]bool)}
}

// Use starts an informer unless it runs. Who asks whether it has filled asks
// afterwards: its Synced call then finds the user.
func (b *Borrowed) Use(k queue.Key, informer monitor.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.uses[k][informer] {
		return
	}
	if b.uses[k] == nil {
		b.uses[k] = make(map[monitor.Key]bool, 1)
	}
	b.uses[k][informer] = true
	if b.users[informer] == nil {
		b.users[informer] = make(queue.Keys, 1)
		b.monitors.Watch(ownerOfBorrowed(informer), informer)
	}
	b.users[informer][k] = true
}

// Keep ends the use of all informers but those that a parent used just now.
func (b *Borrowed) Keep(k queue.Key, used map[monitor.Key]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keepLocked(k, used)
}

func (b *Borrowed) keepLocked(k queue.Key, used map[monitor.Key]bool) {
	for informer := range b.uses[k] {
		if used[informer] {
			continue
		}
		delete(b.uses[k], informer)
		if delete(b.users[informer], k); len(b.users[informer]) == 0 {
			delete(b.users, informer)
			b.monitors.Watch(ownerOfBorrowed(informer))
		}
	}
	if len(b.uses[k]) == 0 {
		delete(b.uses, k)
	}
}

// AddKeys adds to found who of a rule reads through any of them.
func (b *Borrowed) AddKeys(rule string, found queue.Keys) {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue.AddOf(b.uses, rule, found)
}

// ForgetRule ends the use of all informers by the parents of a rule.
func (b *Borrowed) ForgetRule(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range b.uses {
		if k.Rule == id {
			b.keepLocked(k, nil)
		}
	}
}

// UsersOf lists who reads through an informer.
func (b *Borrowed) UsersOf(informer monitor.Key) []queue.Key {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.users[informer]))
}

// ownerOfBorrowed is the name under which an informer is wanted.
func ownerOfBorrowed(informer monitor.Key) string { return fmt.Sprintf("lookup %v", informer) }
