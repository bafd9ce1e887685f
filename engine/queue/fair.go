package queue

// fairQueue hands out keys rule by rule in turn, so that a rule with thousands of
// parents in churn does not hold up the one parent of another. The work queue calls it
// under its own lock.
type fairQueue struct {
	lanes map[string]*lane
	// turns are the rules that have keys waiting, the next one first.
	turns   []string
	size    int
	waiting *waiting // is told of every key that comes or goes
	urgent  *urgent  // says of a key that comes whether it is urgent
}

func newFairQueue(waiting *waiting, urgent *urgent) *fairQueue {
	return &fairQueue{lanes: make(map[string]*lane), waiting: waiting, urgent: urgent}
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
		q.turns = append(q.turns, k.Rule)
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
	rule := q.turns[0]
	q.turns = q.turns[1:]
	l := q.lanes[rule]
	k := l.pop()
	q.size--
	q.waiting.add(rule, -1)
	if l.isEmpty() {
		delete(q.lanes, rule)
	} else {
		q.turns = append(q.turns, rule)
	}
	return k
}
