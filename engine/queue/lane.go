package queue

// inARow is how many keys a lane hands out while patient ones wait, before one of these
// comes: they are to come late, and not never.
const inARow = 3

// lane is what waits of one rule, the first to come first; patient keys let others by.
type lane struct {
	keys []Key
	// patient has every key of isPatient, and may have others, which are in keys by now or gone.
	patient   []Key
	isPatient Keys
	row       int // how many of keys came after the last patient one
}

func (l *lane) isEmpty() bool { return len(l.keys) == 0 && len(l.isPatient) == 0 }

// push adds a key that does not wait in this lane.
func (l *lane) push(k Key, patient bool) {
	if !patient {
		l.keys = append(l.keys, k)
		return
	}
	if l.isPatient == nil {
		l.isPatient = make(Keys)
	}
	l.patient = append(l.patient, k)
	l.isPatient[k] = true
}

// hurry has a key that waits be patient no more.
func (l *lane) hurry(k Key) {
	if l.isPatient[k] {
		delete(l.isPatient, k)
		l.keys = append(l.keys, k)
	}
}

// pop takes the next key. The lane must not be empty.
func (l *lane) pop() Key {
	if len(l.isPatient) == 0 {
		return first(&l.keys)
	}
	if len(l.keys) > 0 && l.row < inARow {
		l.row++
		return first(&l.keys)
	}
	l.row = 0
	for {
		k := first(&l.patient)
		if l.isPatient[k] {
			delete(l.isPatient, k)
			return k
		}
	}
}

// first takes the first of some keys.
func first(keys *[]Key) Key {
	k := (*keys)[0]
	(*keys)[0] = Key{}  // which the array holds until the keys have outgrown it
	*keys = (*keys)[1:] // so that those which never run empty do not grow
	return k
}
