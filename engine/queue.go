package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// key names one piece of work: one rule for one parent. The parent's kind is
// the rule's.
type key struct {
	rule   string // the rule's id
	parent types.NamespacedName
	// patch is set for one of the rule's patches, in the target that stands in the
	// parent's place. Without a target: in all objects that it is not for any more.
	patch string
}

// newQueue makes the work queue: deduplicating, backing off per key from base
// to limit, and fair between rules.
func newQueue(base, limit time.Duration) workqueue.TypedRateLimitingInterface[key] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[key](base, limit),
		workqueue.TypedRateLimitingQueueConfig[key]{
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[key]{
				Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[key]{Queue: &fairQueue{}}),
			}),
		})
}

// fairQueue hands out keys rule by rule in turn, and in order of arrival
// within a rule, so that a rule with thousands of parents in churn does not
// hold up the one parent of another. The work queue calls it under its own
// lock.
type fairQueue struct {
	lanes map[string]*lane
	// turns are the rules that have keys waiting, the next one first.
	turns []string
	size  int
}

// lane is what waits of one rule, as a ring-free FIFO: head is the index of
// the next key, and the slice is compacted when it runs empty.
type lane struct {
	keys []key
	head int
}

// Touch is called for a key that waits already; its place stays.
func (q *fairQueue) Touch(key) {}

// Push adds a key behind the others of its rule.
func (q *fairQueue) Push(k key) {
	if q.lanes == nil {
		q.lanes = make(map[string]*lane)
	}
	l, waiting := q.lanes[k.rule]
	if !waiting {
		l = &lane{}
		q.lanes[k.rule] = l
		q.turns = append(q.turns, k.rule)
	}
	l.keys = append(l.keys, k)
	q.size++
}

// Len is how many keys wait.
func (q *fairQueue) Len() int { return q.size }

// Pop takes the first key of the rule whose turn it is; the rule then goes to
// the end of the line if it has more. It must not be called on an empty queue.
func (q *fairQueue) Pop() key {
	rule := q.turns[0]
	q.turns = q.turns[1:]
	l := q.lanes[rule]
	k := l.keys[l.head]
	l.keys[l.head] = key{}
	l.head++
	q.size--
	if l.head == len(l.keys) {
		delete(q.lanes, rule)
	} else {
		q.turns = append(q.turns, rule)
	}
	return k
}
