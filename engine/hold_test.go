package engine_test

import (
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// heldRequests blocks requests of a client until it is opened, like a slow admission webhook or a proxy.
type heldRequests struct {
	match func(*http.Request) bool

	open    chan struct{}
	opened  sync.Once
	arrived chan struct{}
	first   sync.Once
	endless atomic.Int64
}

// holdRequests blocks the requests of a client that match.
func holdRequests(config *rest.Config, match func(*http.Request) bool) *heldRequests {
	h := &heldRequests{match: match, open: make(chan struct{}), arrived: make(chan struct{})}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if err := h.pass(r); err != nil {
				return nil, err
			}
			return next.RoundTrip(r)
		})
	})
	return h
}

// pass returns once a request may go on, or its context ends.
func (h *heldRequests) pass(r *http.Request) error {
	if !h.match(r) {
		return nil
	}
	if _, ends := r.Context().Deadline(); !ends {
		h.endless.Add(1)
	}
	h.first.Do(func() { close(h.arrived) })
	select {
	case <-h.open:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// Open lets all requests pass from now on.
func (h *heldRequests) Open() { h.opened.Do(func() { close(h.open) }) }

// Arrived returns a channel that is closed when the first request is blocked.
func (h *heldRequests) Arrived() <-chan struct{} { return h.arrived }

// Endless is how many of the matching requests had no deadline.
func (h *heldRequests) Endless() int { return int(h.endless.Load()) }
