package engine

import "kanon.dev/kanon/engine/apply/mark"

// keysChanged handles that the keys that seal marks were read for the first time, have changed, or cannot be read.
// Nothing is compared or written before they are known, because a child could not be distinguished from a copy.
func (e *Engine) keysChanged() {
	keys := e.keys.Keyring()
	if before := e.sealing.Swap(keys); before != nil && before != keys {
		// The old keys decided which objects with the label of children count, and marks with an old seal get a new
		// one. When these informers have synced again, all parents of their rules are reconciled.
		e.monitors.Relist(mark.LabelRule)
	}
	if e.leads() { // otherwise the records are not followed yet
		e.records.Sync()
	}
	e.inbox.Notify()
}
