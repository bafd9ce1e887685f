package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// outageReminder is the time after which a continuing outage is logged again.
const outageReminder = time.Minute

// Outages logs when requests begin to fail and when they succeed again, which client-go does not. It sends no requests;
// it observes those of others. It logs nothing before Begin.
type Outages struct {
	now func() time.Time // time.Now

	mu     sync.Mutex // guards what follows
	log    *logr.Logger
	since  time.Time // when the outage began; zero if there is none
	logged time.Time // when the outage was last logged
}

// NewOutages makes Outages that log nothing yet.
func NewOutages() *Outages { return &Outages{now: time.Now} }

// Begin starts the logging, to log.
func (o *Outages) Begin(log logr.Logger) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = &log
}

// Problem returns an error during an outage, and before the API server has answered for the first time.
func (o *Outages) Problem() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.log == nil:
		return errors.New("the API server has not answered yet")
	case !o.since.IsZero():
		return fmt.Errorf("the API server has not answered since %s", o.since.UTC().Format(time.RFC3339))
	}
	return nil
}

// Wrap observes the requests that next sends. It is a wrapper for rest.Config.
func (o *Outages) Wrap(next http.RoundTripper) http.RoundTripper {
	return observer{next: next, outages: o}
}

// observer is a transport whose requests are observed.
type observer struct {
	next    http.RoundTripper
	outages *Outages
}

// RoundTrip implements http.RoundTripper.
func (t observer) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err == nil || request.Context().Err() == nil { // a request that we cancelled reveals nothing
		t.outages.observe(request.URL.Host, err)
	}
	return response, err
}

// WrappedRoundTripper gives client-go access to next, like its own transports.
func (t observer) WrappedRoundTripper() http.RoundTripper { return t.next }

// observe records the result of a request.
func (o *Outages) observe(host string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	switch {
	case o.log == nil:
	case err == nil && !o.since.IsZero():
		o.log.Info("The API server is reached again", "server", host, "after", now.Sub(o.since).Round(time.Second).String())
		o.since = time.Time{}
	case err != nil && o.since.IsZero():
		o.since, o.logged = now, now
		o.log.Error(err, "The API server cannot be reached; everything goes on when it is back", "server", host)
	case err != nil && now.Sub(o.logged) >= outageReminder:
		o.logged = now
		o.log.Error(err, "The API server still cannot be reached", "server", host, "since", o.since.UTC().Format(time.RFC3339))
	}
}
