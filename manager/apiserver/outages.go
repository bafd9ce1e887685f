package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// outageReminder is the time after which the log is told again of an outage that
// goes on.
const outageReminder = time.Minute

// Outages logs when requests get no answer any more and when they get one again, which client-go does not. It sends no request. It
// observes those of others, and logs nothing before Begin.
type Outages struct {
	now func() time.Time // time.Now

	mu    sync.Mutex // guards what follows
	log   *logr.Logger
	since time.Time // when the outage began; zero: there is none
	told  time.Time // when the log was told of it last
}

// NewOutages makes Outages that log nothing yet.
func NewOutages() *Outages { return &Outages{now: time.Now} }

// Begin makes log the one that is told.
func (o *Outages) Begin(log logr.Logger) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = &log
}

// Problem is an error while the API server does not answer, and before it has answered for the first time.
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

// Wrap observes what next sends. It is a wrapper as rest.Config takes.
func (o *Outages) Wrap(next http.RoundTripper) http.RoundTripper {
	return observer{next: next, outages: o}
}

// observer is a transport that Outages observes.
type observer struct {
	next    http.RoundTripper
	outages *Outages
}

// RoundTrip implements http.RoundTripper.
func (t observer) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err == nil || request.Context().Err() == nil { // what we broke off says nothing
		t.outages.observe(request.URL.Host, err)
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport below, as its own do.
func (t observer) WrappedRoundTripper() http.RoundTripper { return t.next }

// observe takes in how a request ended.
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
		o.since, o.told = now, now
		o.log.Error(err, "The API server cannot be reached; everything goes on when it is back", "server", host)
	case err != nil && now.Sub(o.told) >= outageReminder:
		o.told = now
		o.log.Error(err, "The API server still cannot be reached", "server", host, "since", o.since.UTC().Format(time.RFC3339))
	}
}
