package engine

import (
	"kanon.dev/kanon/engine/apply/mark"
)

// keysChanged takes in that the keys which seal marks were read for the first time, or are other ones, or cannot be read.
// Nothing is compared or written before they are known: no child could be told from a copy.
func (e *Engine) keysChanged() {
	keys := e.keys.Keyring()
	if before := e.sealing.Swap(keys); before != nil && before != keys {
		// Which objects with the label of children count was decided by the keys at the time, and what was sealed by an old
		// key gets a new seal. When these informers have filled, all parents of their rules are reconciled.
		e.monitors.Relist(mark.LabelRule)
	}
	e.records.Sync()
	e.inbox.Notify()
}
