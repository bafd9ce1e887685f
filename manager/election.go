package manager

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/manager/leadership"
)

// Election has the times of the leader election; see leadership.Options.
type Election struct{ LeaseDuration, RenewDeadline, RetryPeriod time.Duration }

// newElector makes the Elector; nil without an election.
func newElector(o *Options) (*leadership.Elector, error) {
	if o.Election == nil {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this process in the leader election: %w", err)
	}
	return leadership.New(leadership.Options{
		Config: o.Config, Namespace: o.Namespace, Name: engine.LeaseName,
		Identity:      host + "_" + string(uuid.NewUUID()), // a restarted container is another candidate
		LeaseDuration: o.Election.LeaseDuration, RenewDeadline: o.Election.RenewDeadline, RetryPeriod: o.Election.RetryPeriod,
	})
}

// leading returns a channel that is closed once the engine may write; nil if it may from the start.
func leading(elector *leadership.Elector) <-chan struct{} {
	if elector == nil {
		return nil
	}
	return elector.Leading()
}

// runElected runs the engine while this process takes part in the election. The Lease is released once the engine has
// ended. If this process loses the lead, the engine ends.
func (m *Manager) runElected(ctx context.Context, run runner) error {
	if m.elector == nil {
		return run(ctx)
	}
	running, end := context.WithCancel(ctx)
	defer end()
	taking, endTaking := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		ended <- m.elector.Run(taking)
		end()
	}()
	err := run(running)
	endTaking()
	if lost := <-ended; lost != nil {
		return lost
	}
	return err
}
