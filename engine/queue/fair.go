package queue

// fairQueue hands out keys in turns: first between tenants, so that a tenant with many rules does not delay one with a
// single rule; then between the rules of a tenant, so that a rule with thousands of changing parents does not delay the
// only parent of another. The work queue calls it under its own lock.
type fairQueue struct {
	lanes map[string]*lane
	// turns has the tenants and rules with waiting keys.
	turns   turns
	size    int
	waiting *waiting // counts every key that comes or goes
	urgent  *urgent  // knows whether a new key is urgent
	// tenantOf returns the tenant of a rule.
	tenantOf func(rule string) string
}

func newFairQueue(waiting *waiting, urgent *urgent, tenantOf func(rule string) string) *fairQueue {
	return &fairQueue{lanes: make(map[string]*lane), waiting: waiting, urgent: urgent, tenantOf: tenantOf}
}

// Touch is called for a key that is added again while it waits.
func (q *fairQueue) Touch(k Key) {
	if q.urgent.take(k) {
		q.lanes[k.Rule].hurry(k)
	}
}

// Push adds a key behind the others of its rule.
func (q *fairQueue) Push(k Key) {
	l, waiting := q.lanes[k.Rule]
	if !waiting {
		l = &lane{}
		q.lanes[k.Rule] = l
		q.turns.add(q.tenantOf(k.Rule), k.Rule)
	}
	l.push(k, q.urgent.take(k))
	q.size++
	q.waiting.add(k.Rule, 1)
}

// Len returns how many keys wait.
func (q *fairQueue) Len() int { return q.size }

// Pop takes the next key of the rule whose turn it is. If the rule has more keys, it goes to the end of the line. The
// queue must not be empty.
func (q *fairQueue) Pop() Key {
	tenant, rule := q.turns.next()
	l := q.lanes[rule]
	k := l.pop()
	q.size--
	q.waiting.add(rule, -1)
	if l.isEmpty() {
		delete(q.lanes, rule)
	} else {
		q.turns.add(tenant, rule)
	}
	return k
}
