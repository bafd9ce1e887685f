package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"kanon.dev/kanon/engine"
)

var (
	// ErrLost is the error of a process that led and lost the lead. It ends, because what it remembers may be outdated.
	ErrLost = errors.New("this Kanon does not lead any more: its Lease could not be renewed in time")
	// ErrNotLeading is the error of a write that was not sent, because another Kanon may lead.
	ErrNotLeading = errors.New("not sent: this Kanon does not lead")
)

// Election has the times of the leader election: how long the others wait for a leader that does not renew the Lease,
// how long that leader continues, and the pause between two renewals.
type Election struct{ LeaseDuration, RenewDeadline, RetryPeriod time.Duration }

// The defaults of Kubernetes' own controllers.
const (
	DefaultLeaseDuration = 15 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
)

// Validate validates the durations. Errors name their flags.
func (e Election) Validate() error {
	switch {
	case e.LeaseDuration < time.Second || e.LeaseDuration%time.Second != 0:
		return fmt.Errorf("--leader-elect-lease-duration must be whole seconds, not %s", e.LeaseDuration)
	case e.RenewDeadline >= e.LeaseDuration:
		return fmt.Errorf("--leader-elect-renew-deadline (%s) must be less than --leader-elect-lease-duration (%s)",
			e.RenewDeadline, e.LeaseDuration)
	case e.RetryPeriod <= 0 || float64(e.RetryPeriod)*leaderelection.JitterFactor >= float64(e.RenewDeadline):
		return fmt.Errorf("--leader-elect-retry-period must be more than 0 and less than --leader-elect-renew-deadline divided by %.1f, not %s",
			leaderelection.JitterFactor, e.RetryPeriod)
	}
	return nil
}

// elector is client-go's leader election by a Lease, with a gate that keeps a process that does not lead from writing.
// The gate checks when the Lease was last renewed, rather than what the election has noticed. So a process that was
// paused for longer than its Lease sends no write after it resumes.
type elector struct {
	// Interface is the Lease. The elector stands in for it, to see the requests about it.
	resourcelock.Interface
	times   Election
	leading chan struct{} // closed once this process leads

	mu sync.Mutex // guards what follows
	// renewed is when the last request that took or renewed the Lease began; zero if this process does not have it.
	renewed time.Time
	// leader is the known holder of the Lease; empty if there is none.
	leader string
}

// newElector makes the elector; nil without an election. Its connection to the cluster does not have the gate.
func newElector(o *Options) (*elector, error) {
	if o.Election == nil {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this process in the leader election: %w", err)
	}
	config := rest.CopyConfig(o.Config)
	config.Timeout = o.Election.RenewDeadline / 2 // if a request hangs, there is time for another
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the leader election: %w", err)
	}
	identity := host + "_" + string(uuid.NewUUID()) // a restarted container is another candidate
	return &elector{times: *o.Election, leading: make(chan struct{}), Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: engine.LeaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}}, nil
}

// leading returns a channel that is closed once the engine may write; nil if it may from the start.
func leading(e *elector) <-chan struct{} {
	if e == nil {
		return nil
	}
	return e.leading
}

// run takes part in the election until ctx ends, and then releases the Lease: nothing that needs it may run any more.
// The error is ErrLost if this process led and lost the lead.
func (e *elector) run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	election, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: e, LeaseDuration: e.times.LeaseDuration, RenewDeadline: e.times.RenewDeadline, RetryPeriod: e.times.RetryPeriod,
		ReleaseOnCancel: true,
		Name:            engine.LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				log.Info("This Kanon leads", "identity", e.Identity())
				close(e.leading)
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				if leader != "" && leader != e.Identity() {
					log.Info("Another Kanon leads; this one stands by", "leader", leader)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("set up the leader election: %w", err)
	}
	election.Run(logr.NewContext(ctx, log.V(4))) // client-go logs each try
	e.note(func() { e.renewed = time.Time{} })
	if ctx.Err() == nil {
		return ErrLost
	}
	return nil
}

// Get implements resourcelock.Interface.
func (e *elector) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := e.Interface.Get(ctx)
	if err == nil {
		e.note(func() { e.leader = record.HolderIdentity })
	}
	return record, raw, err //nolint:wrapcheck // It stands in for client-go's.
}

// Create implements resourcelock.Interface.
func (e *elector) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return e.write(ctx, record, e.Interface.Create)
}

// Update implements resourcelock.Interface.
func (e *elector) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return e.write(ctx, record, e.Interface.Update)
}

// write takes, renews or releases the Lease. The time when the request begins counts: the others count from when they
// see the result, which is later.
func (e *elector) write(
	ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	began := time.Now()
	if err := send(ctx, record); err != nil {
		return err
	}
	e.note(func() {
		if e.leader = record.HolderIdentity; e.leader != e.Identity() {
			began = time.Time{}
		}
		e.renewed = began
	})
	return nil
}

// note changes the state.
func (e *elector) note(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
}

// mayWrite reports whether no other process can lead now: the Lease was renewed less than RenewDeadline ago, and the
// others wait for longer than that.
func (e *elector) mayWrite() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.renewed.IsZero() && time.Since(e.renewed) < e.times.RenewDeadline
}

// problem returns an error while no leader is known, and if this process leads and cannot renew its Lease.
func (e *elector) problem() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.renewed.IsZero() && time.Since(e.renewed) >= e.times.RenewDeadline:
		return fmt.Errorf("the Lease has not been renewed since %s", e.renewed.UTC().Format(time.RFC3339))
	case e.renewed.IsZero() && e.leader == "":
		return errors.New("nobody is known to lead")
	}
	return nil
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
		ended <- m.elector.run(taking)
		end()
	}()
	err := run(running)
	endTaking()
	if lost := <-ended; lost != nil {
		return lost
	}
	return err
}

// gate passes writes to next only while this Kanon leads. It is a wrapper for rest.Config.
func (e *elector) gate(next http.RoundTripper) http.RoundTripper { return gate{next: next, elector: e} }

type gate struct {
	next    http.RoundTripper
	elector *elector
}

// RoundTrip implements http.RoundTripper.
func (g gate) RoundTrip(request *http.Request) (*http.Response, error) {
	if isWrite(request) && !g.elector.mayWrite() {
		if request.Body != nil {
			_ = request.Body.Close() // RoundTrippers must close it
		}
		return nil, ErrNotLeading
	}
	return g.next.RoundTrip(request)
}

// WrappedRoundTripper gives client-go access to next, like its own transports.
func (g gate) WrappedRoundTripper() http.RoundTripper { return g.next }

// isWrite reports whether a request changes anything. Reviews are POSTs that change nothing.
func isWrite(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	case http.MethodPost:
		return !IsReview(request)
	}
	return true
}

// IsReview reports whether a request is a review of rights or tokens.
func IsReview(request *http.Request) bool {
	path := request.URL.Path
	return strings.Contains(path, "/apis/authorization.k8s.io/") || strings.Contains(path, "/apis/authentication.k8s.io/")
}
