package queue

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// Key names one piece of work.
//
//   - With a rule and a parent: reconcile that parent. Its kind is the rule's.
//   - With a patch too: apply what the rule's patch sets in the target, which takes the parent's place.
//   - With a patch and no target: find all objects that the patch no longer applies to.
//   - With a rule alone: do the work that concerns none of its parents, such as to find parents that have its finalizer
//     and that no informer shows.
type Key struct {
	Rule   string // the rule's id
	Parent types.NamespacedName
	Patch  string
}

// IsRuleWork reports whether the work concerns a rule and none of its parents.
func (k Key) IsRuleWork() bool { return k.Patch == "" && k.Parent == (types.NamespacedName{}) }

// IsPatchCleanup reports whether the work is to find the former objects of a patch.
func (k Key) IsPatchCleanup() bool { return k.Patch != "" && k.Parent == (types.NamespacedName{}) }

// String returns the key as an index value.
func (k Key) String() string {
	return strings.Join([]string{k.Rule, k.Parent.Namespace, k.Parent.Name}, "/")
}

// ParseKey parses an index value as the key of a parent.
func ParseKey(value string) (Key, bool) {
	rule, parent, ok := strings.Cut(value, "/")
	namespace, name, isParent := strings.Cut(parent, "/")
	return Key{Rule: rule, Parent: types.NamespacedName{Namespace: namespace, Name: name}}, ok && isParent
}

// Keys is a set of keys.
type Keys map[Key]bool

// AddOf adds to found the keys of a rule in a map.
func AddOf[V any](from map[Key]V, rule string, found Keys) {
	for k := range from {
		if k.Rule == rule {
			found[k] = true
		}
	}
}

// Queue is the work queue: deduplicating, backing off per key, and fair between tenants and between the rules of each.
// A rule has no more than its share of keys in work. Of a rule's keys, those to which something has happened come first.
type Queue struct {
	workqueue.TypedRateLimitingInterface[Key]

	counter *Counter
	order   *fairQueue
}

// New makes a queue. The back-off of a key is between base and limit. A key counts as work until Done. At most share
// keys of a rule are in work at a time. tenantOf returns the tenant of a rule; the rules of a tenant share its turns. It
// must not call the queue.
func New(base, limit time.Duration, counter *Counter, tenantOf func(rule string) string, share int) *Queue {
	order := newFairQueue(tenantOf, share)
	return &Queue{TypedRateLimitingInterface: NewQueue("reconcile", counter, order, base, limit), counter: counter, order: order}
}

// Done ends the work on a key. Then the caller must call Get, unless Len is zero or no other caller waits in Get.
func (q *Queue) Done(k Key) {
	q.order.release(k.Rule)
	q.TypedRateLimitingInterface.Done(k)
	q.counter.End()
}

// Add adds a key to which something has happened.
func (q *Queue) Add(k Key) {
	q.order.hurry(k)
	q.TypedRateLimitingInterface.Add(k)
}

// AddPatient adds a key that is only reconciled again, such as every key of a rule that starts or changes, or a key
// after a pause. Most other keys of its rule go first.
func (q *Queue) AddPatient(k Key) { q.TypedRateLimitingInterface.Add(k) }

// Waiting returns how many keys of a rule wait for a worker.
func (q *Queue) Waiting(rule string) int { return q.order.waiting(rule) }
