package flow

// Origin is where a value comes from. It decides what follows if something in the value does not exist.
type Origin struct {
	// Waits is true for what fills in later: children, lookups, observed, self and the parent's status.
	Waits bool
	// Drifts is true if the value changes with the clock in a way that is not followed. speed is by how many seconds it
	// grows in a second (clock.go).
	Drifts bool
	speed  int
	// Root is a name whose members have origins of their own.
	Root string
	// Fields are the origins of the fields of a mapping in a template.
	Fields map[string]*Origin
	// complete is true for the list of a child or a lookup, which either has all its items or does not exist.
	complete bool
	// optional is the lookup that the value is, if that can be null.
	optional string
}

func fixed() *Origin { return &Origin{} }
func later() *Origin { return &Origin{Waits: true} }

// Join is the origin of a value that may come from either.
func Join(a, b *Origin) *Origin {
	switch {
	case a == b || b == nil:
		return a
	case a == nil:
		return b
	}
	return &Origin{Waits: a.Waits || b.Waits, Drifts: a.Moves() || b.Moves()}
}

// Moves reports whether a value can change with every second.
func (o *Origin) Moves() bool { return o != nil && (o.speed != 0 || o.Drifts) }

// Steady is the origin of a value that became JSON. A time is text then, and it is not known when that changes.
func (o *Origin) Steady() *Origin {
	if o.speed == 0 {
		return o
	}
	return &Origin{Waits: o.Waits, Drifts: true}
}
