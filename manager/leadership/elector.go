package leadership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrLost is the error of Run if this process led and lost the lead.
var ErrLost = errors.New("this Kanon does not lead any more: its Lease could not be renewed in time")

// Options configure an Elector. Config, Namespace, Name and Identity are required.
type Options struct {
	// Config is for connections to the cluster. It must not have the Elector's own Gate.
	Config *rest.Config
	// Namespace and Name are those of the Lease.
	Namespace, Name string
	// Identity distinguishes this process from all others.
	Identity string
	// LeaseDuration is how long the others wait for a leader that does not renew the Lease, RenewDeadline how long that
	// leader continues, and RetryPeriod the pause between two renewals. Defaults: 15, 10 and 2 seconds, as in
	// Kubernetes' own controllers.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// The defaults of Options.
const (
	DefaultLeaseDuration = 15 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
)

// CheckDurations validates the durations. Errors name their flags.
func CheckDurations(lease, renew, retry time.Duration) error {
	switch {
	case lease < time.Second || lease%time.Second != 0:
		return fmt.Errorf("--leader-elect-lease-duration must be whole seconds, not %s", lease)
	case renew >= lease:
		return fmt.Errorf("--leader-elect-renew-deadline (%s) must be less than --leader-elect-lease-duration (%s)", renew, lease)
	case retry <= 0 || float64(retry)*leaderelection.JitterFactor >= float64(renew):
		return fmt.Errorf("--leader-elect-retry-period must be more than 0 and less than --leader-elect-renew-deadline divided by %.1f, not %s",
			leaderelection.JitterFactor, retry)
	}
	return nil
}

// Elector takes part in the election.
type Elector struct {
	options Options
	// leases is for requests, which have a timeout, and watches for watches, which have none.
	leases, watches coordinationclient.LeasesGetter
	leading         chan struct{} // closed once this process leads

	mu sync.Mutex
	// renewed is when the last request that took or renewed the Lease began; zero if this process does not have the
	// Lease. Guarded by mu, as is everything below.
	renewed time.Time
	// led is true once this process has had the Lease.
	led bool
	// leader is the known holder of the Lease; empty if there is none.
	leader string
	// busy is true during a request about the Lease. retry ends the pause before the next try.
	busy  bool
	retry context.CancelFunc
}

// New makes an Elector. It sends no request.
func New(o Options) (*Elector, error) {
	for duration, standard := range map[*time.Duration]time.Duration{
		&o.LeaseDuration: DefaultLeaseDuration, &o.RenewDeadline: DefaultRenewDeadline, &o.RetryPeriod: DefaultRetryPeriod,
	} {
		if *duration == 0 {
			*duration = standard
		}
	}
	limited := rest.CopyConfig(o.Config)
	limited.Timeout = o.RenewDeadline / 2 // if a request hangs, there is time for another
	leases, err1 := coordinationclient.NewForConfig(limited)
	watches, err2 := coordinationclient.NewForConfig(o.Config)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("set up the leader election: %w", err)
	}
	return &Elector{options: o, leases: leases, watches: watches, leading: make(chan struct{})}, nil
}

// Leading returns a channel that is closed once this process leads.
func (e *Elector) Leading() <-chan struct{} { return e.leading }

// Run takes part in the election until ctx ends, and then releases the Lease: nothing that needs it may run any more.
// The error is ErrLost if this process led and lost the lead.
func (e *Elector) Run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() { e.watch(ctx) })
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock{&resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: e.options.Namespace, Name: e.options.Name},
			Client:     e.leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: e.options.Identity},
		}, e},
		LeaseDuration: e.options.LeaseDuration, RenewDeadline: e.options.RenewDeadline, RetryPeriod: e.options.RetryPeriod,
		ReleaseOnCancel: true,
		Name:            e.options.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				log.Info("This Kanon leads", "identity", e.options.Identity)
				close(e.leading)
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				if leader != "" && leader != e.options.Identity {
					log.Info("Another Kanon leads; this one stands by", "leader", leader)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("set up the leader election: %w", err)
	}
	for ctx.Err() == nil && !e.hasLed() {
		try, cancel := context.WithCancel(logr.NewContext(ctx, log.V(4))) // client-go logs each try
		e.setRetry(cancel)
		elector.Run(try)
		cancel()
	}
	e.forget()
	if ctx.Err() == nil {
		return ErrLost
	}
	return nil
}

func (e *Elector) hasLed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.led
}

// setRetry sets the function that ends the pause before the next try.
func (e *Elector) setRetry(retry context.CancelFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.retry = retry
}

// hurry starts the next try now. It returns false if one is under way, because that one may have read the Lease too
// early.
func (e *Elector) hurry() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy {
		return false
	}
	if !e.led && e.retry != nil {
		e.retry()
	}
	return true
}

// forget records that this process does not have the Lease.
func (e *Elector) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.renewed = time.Time{}
}

// mayWrite reports whether no other process can lead now: the Lease was renewed less than RenewDeadline ago, and the
// others wait for longer than that.
func (e *Elector) mayWrite() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.renewed.IsZero() && time.Since(e.renewed) < e.options.RenewDeadline
}

// Problem returns an error while no leader is known, and if this process leads and cannot renew its Lease.
func (e *Elector) Problem() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.renewed.IsZero() && time.Since(e.renewed) >= e.options.RenewDeadline:
		return fmt.Errorf("the Lease has not been renewed since %s", e.renewed.UTC().Format(time.RFC3339))
	case e.renewed.IsZero() && e.leader == "":
		return errors.New("nobody is known to lead")
	}
	return nil
}
