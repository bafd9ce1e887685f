package queue

// inARow is how many urgent keys a lane hands out while patient ones wait, before one of these
// comes: they are to come late, and not never.
const inARow = 3

// lane is what waits of one rule: urgent keys, and patient ones, which let most of these by. Of each the
// first to come is the first.
type lane struct {
	urgent  []Key
	patient []Key       // with the zero Key in the place of one that has become urgent
	places  map[Key]int // of the patient ones: the place in patient, if none had been taken from it
	taken   int         // how many have been
	row     int         // how many urgent ones came after the last patient one
}

func (l *lane) isEmpty() bool { return len(l.urgent) == 0 && len(l.places) == 0 }

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

// hurry has a key that waits be urgent.
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

// forget notes that a key is not patient any more.
func (l *lane) forget(k Key) {
	delete(l.places, k)
	if len(l.places) == 0 {
		l.patient, l.taken, l.row = nil, 0, 0
	}
}

// first takes the first of some keys.
func first(keys *[]Key) Key {
	k := (*keys)[0]
	(*keys)[0] = Key{}  // which the array holds until the keys have outgrown it
	*keys = (*keys)[1:] // so that those which never run empty do not grow
	return k
}
