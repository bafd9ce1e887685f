// Package queue says what there is to do, piece by piece, and in which order: the
// rules take turns.
package queue

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// Key names one piece of work.
//
//   - With a rule and a parent: bring that parent up to date. Its kind is the rule's.
//   - With a patch, too: bring up to date what the rule's patch sets in the target that
//     stands in the parent's place.
//   - With a patch and no target: look for all objects that the patch is not for any more.
//   - With a rule alone: look for parents that the rule holds and does not see.
type Key struct {
	Rule   string // the rule's id
	Parent types.NamespacedName
	Patch  string
}

// IsSeek tells whether the work is to look for parents.
func (k Key) IsSeek() bool { return k.Patch == "" && k.Parent == (types.NamespacedName{}) }

// IsSweep tells whether the work is to look for the objects of a patch.
func (k Key) IsSweep() bool { return k.Patch != "" && k.Parent == (types.NamespacedName{}) }

// String is the key as an index value.
func (k Key) String() string {
	return strings.Join([]string{k.Rule, k.Parent.Namespace, k.Parent.Name}, "/")
}

// ParseKey reads the key of a parent from an index value.
func ParseKey(value string) (Key, bool) {
	rule, parent, ok := strings.Cut(value, "/")
	namespace, name, isParent := strings.Cut(parent, "/")
	return Key{Rule: rule, Parent: types.NamespacedName{Namespace: namespace, Name: name}}, ok && isParent
}

// Keys is a set of keys.
type Keys map[Key]bool

// AddOf adds to found those of a rule's keys that a map has.
func AddOf[V any](from map[Key]V, rule string, found Keys) {
	for k := range from {
		if k.Rule == rule {
			found[k] = true
		}
	}
}

// Queue is the work queue: deduplicating, backing off per key, and fair between rules.
type Queue struct {
	workqueue.TypedRateLimitingInterface[Key]

	waiting *waiting
}

// New makes a queue. The back-off of a key is from base to limit.
func New(base, limit time.Duration) *Queue {
	waiting := &waiting{keys: make(map[string]int)}
	return &Queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[Key](base, limit),
			workqueue.TypedRateLimitingQueueConfig[Key]{
				DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{
					Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{Queue: &fairQueue{waiting: waiting}}),
				}),
			}),
		waiting: waiting,
	}
}

// Waiting is how many keys of a rule wait for a worker.
func (q *Queue) Waiting(rule string) int { return q.waiting.of(rule) }

// waiting is how many keys of each rule wait.
type waiting struct {
	mu   sync.Mutex
	keys map[string]int // by rule; none is 0
}

func (w *waiting) of(rule string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys[rule]
}

func (w *waiting) add(rule string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys[rule] += n; w.keys[rule] == 0 {
		delete(w.keys, rule)
	}
}

// fairQueue hands out keys rule by rule in turn, and in order of arrival
// within a rule, so that a rule with thousands of parents in churn does not
// hold up the one parent of another. The work queue calls it under its own
// lock.
type fairQueue struct {
	lanes map[string]*lane
	// turns are the rules that have keys waiting, the next one first.
	turns   []string
	size    int
	waiting *waiting // is told of every key that comes or goes
}

// lane is what waits of one rule, the first to come first.
type lane struct{ keys []Key }

// Touch is called for a key that waits already; its place stays.
func (q *fairQueue) Touch(Key) {}

// Push adds a key behind the others of its rule.
func (q *fairQueue) Push(k Key) {
	if q.lanes == nil {
		q.lanes = make(map[string]*lane)
	}
	l, waiting := q.lanes[k.Rule]
	if !waiting {
		l = &lane{}
		q.lanes[k.Rule] = l
		q.turns = append(q.turns, k.Rule)
	}
	l.keys = append(l.keys, k)
	q.size++
	q.waiting.add(k.Rule, 1)
}

// Len is how many keys wait.
func (q *fairQueue) Len() int { return q.size }

// Pop takes the first key of the rule whose turn it is; the rule then goes to
// the end of the line if it has more. It must not be called on an empty queue.
func (q *fairQueue) Pop() Key {
	rule := q.turns[0]
	q.turns = q.turns[1:]
	l := q.lanes[rule]
	k := l.keys[0]
	l.keys[0] = Key{}   // which the array holds until the lane has outgrown it
	l.keys = l.keys[1:] // so that one which never runs empty does not grow
	q.size--
	q.waiting.add(rule, -1)
	if len(l.keys) == 0 {
		delete(q.lanes, rule)
	} else {
		q.turns = append(q.turns, rule)
	}
	return k
}
