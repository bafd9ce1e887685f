package engine

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"kanon.dev/kanon/engine/monitor"
)

// borrowed are the informers that no rule asks for when it starts: which ones are
// needed turns out when a parent reads through one, as with the Secrets of the
// parent's namespace. The first parent that reads starts it, and it is stopped
// when the last one reads through it no more.
type borrowed struct {
	monitors *monitor.Monitors

	mu sync.Mutex
	// users has who reads through each informer, and uses the same by reader.
	// Guarded by mu.
	users map[monitor.Key]keySet
	uses  map[key]map[monitor.Key]bool
}

func newBorrowed(monitors *monitor.Monitors) *borrowed {
	return &borrowed{monitors: monitors, users: make(map[monitor.Key]keySet), uses: make(map[key]map[monitor.Key]bool)}
}

// use starts an informer unless it runs. Who asks whether it has filled asks
// afterwards: its Synced call then finds the user.
func (b *borrowed) use(k key, informer monitor.Key) {
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
		b.users[informer] = make(keySet, 1)
		b.monitors.Watch(ownerOfBorrowed(informer), informer)
	}
	b.users[informer][k] = true
}

// keep ends the use of all informers but those that a parent used just now.
func (b *borrowed) keep(k key, used map[monitor.Key]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keepLocked(k, used)
}

func (b *borrowed) keepLocked(k key, used map[monitor.Key]bool) {
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

func (b *borrowed) addKeys(rule string, found keySet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	addKeysOf(b.uses, rule, found)
}

// forgetRule ends the use of all informers by the parents of a rule.
func (b *borrowed) forgetRule(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range b.uses {
		if k.rule == id {
			b.keepLocked(k, nil)
		}
	}
}

// usersOf lists who reads through an informer.
func (b *borrowed) usersOf(informer monitor.Key) []key {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.users[informer]))
}

// ownerOfBorrowed is the name under which an informer is wanted.
func ownerOfBorrowed(informer monitor.Key) string { return fmt.Sprintf("lookup %v", informer) }
