package main

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// outageReminder is the time after which the log is told again of an outage that
// goes on.
const outageReminder = time.Minute

// outages tells the log when requests get no answer any more and when they get
// one again, which client-go keeps to itself. It sends nothing: it looks at what
// the others send. It is told whom to tell by begin and is silent before.
type outages struct {
	now func() time.Time // time.Now

	mu    sync.Mutex // guards what follows
	log   *logr.Logger
	since time.Time // when the outage began; zero: there is none
	told  time.Time // when the log was told of it last
}

// begin makes log the one that is told.
func (o *outages) begin(log logr.Logger) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = &log
}

// wrap looks at what next sends.
func (o *outages) wrap(next http.RoundTripper) http.RoundTripper {
	return observer{next: next, outages: o}
}

// observer is a transport that outages looks at.
type observer struct {
	next    http.RoundTripper
	outages *outages
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
func (o *outages) observe(host string, err error) {
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
