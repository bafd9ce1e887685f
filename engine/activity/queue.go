package activity

import "k8s.io/client-go/util/workqueue"

// Queue orders the keys of a work queue as another one does, and counts each as work. Whoever calls Done of the work queue calls
// End afterwards: a key that was added again meanwhile has been counted by then.
type Queue[K comparable] struct {
	workqueue.Queue[K]

	Counter *Counter
}

// Push is called for a key when it has to wait for a worker.
func (q Queue[K]) Push(k K) {
	q.Counter.Begin()
	q.Queue.Push(k)
}
