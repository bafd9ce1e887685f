package queue

import (
	"slices"
	"sync"
)

// tenantShare is how many shares of a rule the rules of a tenant have together.
const tenantShare = 4

// fairQueue hands out keys in turns: first between tenants, so that a tenant with many rules does not delay one with a
// single rule; then between the rules of a tenant, so that a rule with thousands of changing parents does not delay the
// only parent of another. A rule or tenant that has its share of keys in work gets no turn until one of them is done: so
// a rule whose requests hang delays only itself, and a tenant only its own rules. The work queue calls Touch, Push, Len
// and Pop under its own lock.
type fairQueue struct {
	// tenantOf returns the tenant of a rule, and share is how many keys of a rule may be in work.
	tenantOf func(rule string) string
	share    int

	mu sync.Mutex // guards what follows
	// urgent has the keys to which something has happened since they were last placed: the work queue does not tell how
	// a key was added.
	urgent Keys
	// lanes and tenants have the rules and tenants with keys that wait or are in work.
	lanes   map[string]*lane
	tenants map[string]*tenant
	// line has the tenants with keys that wait. The first one is next.
	line []*tenant
}

// tenant has the rules of one tenant that have waiting keys. The first one is next.
type tenant struct {
	name   string
	line   []*lane
	inWork int
}

// newFairQueue makes a queue that hands out at most share keys of a rule at a time.
func newFairQueue(tenantOf func(rule string) string, share int) *fairQueue {
	return &fairQueue{tenantOf: tenantOf, share: share, urgent: make(Keys), lanes: make(map[string]*lane), tenants: make(map[string]*tenant)}
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
	return q.lanes[rule].len()
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

// Push adds a key behind the others of its rule. The tenant of a rule does not change while it has keys.
func (q *fairQueue) Push(k Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[k.Rule]
	if l == nil {
		l = &lane{of: q.tenant(q.tenantOf(k.Rule))}
		q.lanes[k.Rule] = l
	}
	if l.len() == 0 {
		if len(l.of.line) == 0 {
			q.line = append(q.line, l.of)
		}
		l.of.line = append(l.of.line, l)
	}
	l.push(k, q.urgent[k])
	delete(q.urgent, k)
}

func (q *fairQueue) tenant(name string) *tenant {
	t := q.tenants[name]
	if t == nil {
		t = &tenant{name: name}
		q.tenants[name] = t
	}
	return t
}

// mayWork reports whether another key of a lane may be handed out.
func (q *fairQueue) mayWork(l *lane) bool {
	return l.inWork < q.share && l.of.inWork < tenantShare*q.share
}

// Len returns how many keys could be handed out.
func (q *fairQueue) Len() (keys int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.line {
		for _, l := range t.line {
			if q.mayWork(l) {
				keys += l.len()
			}
		}
	}
	return keys
}

// Pop takes the next key of the rule whose turn it is. If the rule has more keys, it goes to the end of the line. Len
// must not be zero.
func (q *fairQueue) Pop() Key {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, t := range q.line {
		at := slices.IndexFunc(t.line, q.mayWork)
		if at < 0 {
			continue
		}
		l := t.line[at]
		k := l.pop()
		l.inWork++
		t.inWork++
		if t.line = slices.Delete(t.line, at, at+1); l.len() > 0 {
			t.line = append(t.line, l)
		}
		if q.line = slices.Delete(q.line, i, i+1); len(t.line) > 0 {
			q.line = append(q.line, t)
		}
		return k
	}
	return Key{} // Len is zero
}

// release ends the work on a key of a rule. Rules that waited for that get turns. The caller must take the next key
// itself, because no worker that waits for a key learns of them.
func (q *fairQueue) release(rule string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[rule]
	l.inWork--
	l.of.inWork--
	if l.inWork == 0 && l.len() == 0 {
		delete(q.lanes, rule)
	}
	if l.of.inWork == 0 && len(l.of.line) == 0 {
		delete(q.tenants, l.of.name)
	}
}

// inARow is how many urgent keys a lane hands out in a row while patient ones wait: these come late, but they do come.
const inARow = 3

// lane has the waiting keys of one rule, and how many others are in work: urgent ones, and patient ones, which most urgent ones overtake. Each group is
// first in, first out.
type lane struct {
	of      *tenant
	inWork  int
	urgent  []Key
	patient []Key       // with a zero Key in place of each one that has become urgent
	places  map[Key]int // of the patient keys: the index in patient, plus taken
	taken   int         // how many keys were taken from the front of patient
	row     int         // how many urgent keys were handed out since the last patient one
}

// len returns how many keys wait in the lane. A nil lane has none.
func (l *lane) len() int {
	if l == nil {
		return 0
	}
	return len(l.urgent) + len(l.places)
}

// push adds a key that does not wait in this lane.
func (l *lane) push(k Key, urgent bool) {
	if urgent {
		l.urgent = append(l.urgent, k)
		return
	}
	if l.places == nil {
		l.places = make(map[Key]int)
	}
	l.places[k] = l.taken + len(l.patient)
	l.patient = append(l.patient, k)
}

// hurry makes a waiting key urgent.
func (l *lane) hurry(k Key) {
	if place, ok := l.places[k]; ok {
		l.patient[place-l.taken] = Key{}
		l.forget(k)
		l.urgent = append(l.urgent, k)
	}
}

// pop takes the next key. The lane must not be empty.
func (l *lane) pop() Key {
	if len(l.urgent) > 0 && (len(l.places) == 0 || l.row < inARow) {
		if len(l.places) > 0 {
			l.row++
		}
		return first(&l.urgent)
	}
	l.row = 0
	k := Key{}
	for k == (Key{}) {
		k = first(&l.patient)
		l.taken++
	}
	l.forget(k)
	return k
}

// forget records that a key is no longer patient.
func (l *lane) forget(k Key) {
	delete(l.places, k)
	if len(l.places) == 0 {
		l.patient, l.taken, l.row = nil, 0, 0
	}
}

// first removes and returns the first key.
func first(keys *[]Key) Key {
	k := (*keys)[0]
	(*keys)[0] = Key{}  // otherwise the array keeps it until it is replaced
	*keys = (*keys)[1:] // append copies only what is left, so that a slice that is never empty does not grow
	return k
}
