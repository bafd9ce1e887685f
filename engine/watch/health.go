package watch

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// healthyAfter is how long a watch must run without an error to count as recovered if no event shows it. It is longer
// than the longest pause between two attempts of client-go's reflector: 30 s plus up to as much jitter.
const healthyAfter = 2 * time.Minute

// unreachable is the reason of an error without an answer from the API server. An answer may have an empty reason.
const unreachable metav1.StatusReason = "Unreachable"

// health tracks whether a watch works, so that an outage is logged when it begins and when its reason changes, and
// not at each retry.
type health struct {
	failing atomic.Bool // lets recovered answer without the lock

	mu sync.Mutex
	// reason is the last logged reason of the outage. Guarded by mu.
	reason metav1.StatusReason
	// err is the newest error, and last its time. Guarded by mu.
	last time.Time
	err  error
}

// failed records an error and reports whether to log it.
func (h *health) failed(err error, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	reason := unreachable
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		reason = answer.Status().Reason
	}
	begins := !h.failing.Swap(true) || now.Sub(h.last) > healthyAfter || reason != h.reason
	h.reason, h.last, h.err = reason, now, err
	return begins
}

// failure returns the newest error of an outage; nil if there is none.
func (h *health) failure() error {
	if !h.failing.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// recovered ends an outage and reports whether there was one.
func (h *health) recovered() bool {
	return h.failing.Load() && h.failing.Swap(false)
}
