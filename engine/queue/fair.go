package queue

import "sync"

// fairQueue hands out keys in turns: first between tenants, so that a tenant with many rules does not delay one with a
// single rule; then between the rules of a tenant, so that a rule with thousands of changing parents does not delay the
// only parent of another. A rule or tenant that has its share of keys in work gets no turn until one of them is done.
// The work queue calls Touch, Push, Len and Pop under its own lock.
type fairQueue struct {
	// tenantOf returns the tenant of a rule.
	tenantOf func(rule string) string

	mu sync.Mutex // guards what follows
	// urgent has the keys to which something has happened since they were last placed: the work queue does not tell how
	// a key was added.
	urgent Keys
	// lanes has the waiting keys of each rule that has any.
	lanes map[string]*lane
	// turns has the tenants and rules whose keys may be handed out, and size is the number of those keys. The other
	// rules in lanes have no turn.
	turns turns
	size  int
	// shares knows which keys are in work.
	shares shares
}

// newFairQueue makes a queue that hands out at most share keys of a rule at a time.
func newFairQueue(tenantOf func(rule string) string, share int) *fairQueue {
	return &fairQueue{urgent: make(Keys), lanes: make(map[string]*lane), tenantOf: tenantOf, shares: newShares(share)}
}

// hurry makes a key urgent once it is placed.
func (q *fairQueue) hurry(k Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.urgent[k] = true
}

// waiting returns how many keys of a rule wait.
func (q *fairQueue) waiting(rule string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lanes[rule]; l != nil {
		return l.len()
	}
	return 0
}

// Touch is called for a key that is added again while it waits.
func (q *fairQueue) Touch(k Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.urgent[k] {
		delete(q.urgent, k)
		q.lanes[k.Rule].hurry(k)
	}
}

// Push adds a key behind the others of its rule.
func (q *fairQueue) Push(k Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, waiting := q.lanes[k.Rule]
	if !waiting {
		l = &lane{}
		q.lanes[k.Rule] = l
		q.line(q.shares.tenantOf(k.Rule, q.tenantOf), k.Rule)
	}
	l.push(k, q.urgent[k])
	delete(q.urgent, k)
	if !q.shares.isPaused(k.Rule) {
		q.size++
	}
}

// line gives a rule a turn, if its share allows that, and pauses it otherwise.
func (q *fairQueue) line(tenant, rule string) {
	if q.shares.allow(tenant, rule) {
		q.turns.add(tenant, rule)
		q.size += q.lanes[rule].len()
	} else {
		q.shares.pause(tenant, rule)
	}
}

// Len returns how many keys could be handed out.
func (q *fairQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

// Pop takes the next key of the rule whose turn it is. If the rule has more keys, it goes to the end of the line. Len
// must not be zero.
func (q *fairQueue) Pop() Key {
	q.mu.Lock()
	defer q.mu.Unlock()
	tenant, rule := q.turns.next()
	l := q.lanes[rule]
	k := l.pop()
	q.shares.begin(tenant, rule)
	q.size -= l.len() + 1
	if l.isEmpty() {
		delete(q.lanes, rule)
	} else {
		q.line(tenant, rule)
	}
	if q.shares.isFull(tenant) {
		for _, rule := range q.turns.remove(tenant) {
			q.size -= q.lanes[rule].len()
			q.shares.pause(tenant, rule)
		}
	}
	return k
}

// release ends the work on a key of a rule. Rules that waited for that get turns. The caller must take the next key
// itself, because no worker that waits for a key learns of them.
func (q *fairQueue) release(rule string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	tenant := q.shares.end(rule)
	for _, rule := range q.shares.resume(tenant) {
		q.line(tenant, rule)
	}
}
