package activity

// Bell wakes a loop. Rung several times before the loop comes to it, it wakes the loop once. From then until Done there is
// work.
type Bell struct {
	counter *Counter
	// rung holds a token while the loop has yet to come.
	rung chan struct{}
}

// NewBell makes a bell of which the work counts.
func NewBell(counter *Counter) *Bell { return &Bell{counter: counter, rung: make(chan struct{}, 1)} }

// Ring wakes the loop.
func (b *Bell) Ring() {
	b.counter.Begin() // before the loop can end it
	select {
	case b.rung <- struct{}{}:
	default: // it is rung already
		b.counter.End()
	}
}

// Rung is where the loop receives. It calls Done for each time, also after Wake.
func (b *Bell) Rung() <-chan struct{} { return b.rung }

// Wake is called by a loop that something else has woken, such as a timer.
func (b *Bell) Wake() { b.counter.Begin() }

// Done ends the work for which the loop was woken.
func (b *Bell) Done() { b.counter.End() }
