package engine

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// keysChanged takes in that the keys which seal marks were read for the first time, or are other ones, or cannot be read.
// Nothing is compared or written before they are known: no child could be told from a copy.
func (e *Engine) keysChanged() {
	if e.keys.Keyring() != nil && e.sealing.Swap(true) {
		e.recheckMarks()
	}
	e.records.ring()
	e.news.ring()
}

// recheckMarks has every object with the label of children read again. Which of them count was decided by the keys at the time,
// and what was sealed by an old key gets a new seal.
func (e *Engine) recheckMarks() {
	resources := sets.New[schema.GroupVersionResource]()
	for _, op := range e.running.load().byID {
		for kind := range op.childKinds() {
			resources.Insert(kind.GVR)
		}
	}
	for resource := range resources {
		e.monitors.Restart(resource) // when it has filled, all parents of its rules are reconciled
	}
}
