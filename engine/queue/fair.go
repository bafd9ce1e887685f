package queue

// fairQueue hands out keys in turns: first between tenants, so that one with many rules does not hold up another
// with one; then between the rules of a tenant, so that a rule with thousands of parents in churn does not hold up the one
// parent of another. The work queue calls it under its own lock.
type fairQueue struct {
	lanes map[string]*lane
	// turns has the tenants and their rules that have keys waiting.
	turns   turns
	size    int
	waiting *waiting // is told of every key that comes or goes
	urgent  *urgent  // says of a key that comes whether it is urgent
	// tenantOf says whose a rule is.
	tenantOf func(rule string) string
}

func newFairQueue(waiting *waiting, urgent *urgent, tenantOf func(rule string) string) *fairQueue {
	return &fairQueue{lanes: make(map[string]*lane), waiting: waiting, urgent: urgent, tenantOf: tenantOf}
}

// Touch is called for a key that waits already, and is added again.
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

// Len is how many keys wait.
func (q *fairQueue) Len() int { return q.size }

// Pop takes the next key of the rule whose turn it is; the rule then goes to
// the end of the line if it has more. It must not be called on an empty queue.
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
