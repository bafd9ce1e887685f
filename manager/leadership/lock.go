package leadership

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock is the Lease. It reports requests about it to the Elector.
type lock struct {
	resourcelock.Interface
	elector *Elector
}

// Get implements resourcelock.Interface.
func (l lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	end := l.elector.begin()
	record, raw, err := l.Interface.Get(ctx)
	end(func(e *Elector) {
		if err == nil {
			e.leader = record.HolderIdentity
		}
	})
	return record, raw, err //nolint:wrapcheck // It stands in for client-go's.
}

// Create implements resourcelock.Interface.
func (l lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

// write takes, renews or releases the Lease. The time when the request begins counts: the others count from when they
// see the result, which is later.
func (l lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	end, began := l.elector.begin(), time.Now()
	err := send(ctx, record)
	end(func(e *Elector) {
		switch {
		case err != nil:
		case record.HolderIdentity == l.Identity():
			e.renewed, e.led, e.leader = began, true, record.HolderIdentity
		default:
			e.renewed, e.leader = time.Time{}, ""
		}
	})
	return err
}

// begin records that a request is under way; end records its result.
func (e *Elector) begin() (end func(takeIn func(*Elector))) {
	e.mu.Lock()
	e.busy = true
	e.mu.Unlock()
	return func(takeIn func(*Elector)) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.busy = false
		takeIn(e)
	}
}
