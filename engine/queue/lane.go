package queue

// inARow is how many urgent keys a lane hands out in a row while patient ones wait: these come late, but they do come.
const inARow = 3

// lane has the waiting keys of one rule: urgent ones, and patient ones, which most urgent ones overtake. Each group is
// first in, first out.
type lane struct {
	urgent  []Key
	patient []Key       // with a zero Key in place of each one that has become urgent
	places  map[Key]int // of the patient keys: the index in patient, plus taken
	taken   int         // how many keys were taken from the front of patient
	row     int         // how many urgent keys were handed out since the last patient one
}

// len returns how many keys wait in the lane.
func (l *lane) len() int { return len(l.urgent) + len(l.places) }

func (l *lane) isEmpty() bool { return l.len() == 0 }

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
