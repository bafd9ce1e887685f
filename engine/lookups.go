package engine

import (
	"errors"

	"kanon.dev/kanon/engine/monitor"
)

// errAllSecrets answers a lookup that asks for the Secrets of the whole cluster.
var errAllSecrets = errors.New(`the Secrets of all namespaces are never read together; name a namespace in place of "*"`)

// failed wakes what reads through an informer that cannot fill, so that it says
// so.
func (e *Engine) failed(informer monitor.Key) {
	for _, k := range e.borrowed.UsersOf(informer) {
		e.queue.Add(k)
	}
}
