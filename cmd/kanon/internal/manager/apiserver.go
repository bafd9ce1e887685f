package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

const (
	// AnswerLimit is how long an answer of an API server may take.
	AnswerLimit = 5 * time.Second
	// firstPause and longestPause bound the pauses between retries. Each is twice the one before.
	firstPause   = time.Second
	longestPause = 15 * time.Second
)

// ErrNoAnswer is the error of a request that takes longer than AnswerLimit.
var ErrNoAnswer = errors.New("no answer")

// ErrNoVersion is the error of an answer that is not a version of Kubernetes, such as the page of a proxy.
var ErrNoVersion = errors.New("the answer is no version of Kubernetes")

// APIServer is the API server that Kanon works on.
type APIServer struct {
	client rest.Interface
	host   string
	limit  time.Duration                        // for one answer
	after  func(time.Duration) <-chan time.Time // time.After
}

// NewAPIServer makes a APIServer. It sends no request. host names the server in errors and logs.
func NewAPIServer(client rest.Interface, host string) *APIServer {
	return &APIServer{client: client, host: host, limit: AnswerLimit, after: time.After}
}

// Await requests the API server's version until it answers, and logs failures. It returns false if ctx ends first.
// Nothing else starts before that: if many parts reported the same outage, its cause would be hard to find.
func (s *APIServer) Await(ctx context.Context) bool {
	log := logr.FromContextOrDiscard(ctx)
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		version, err := s.versionInTime(ctx)
		if err == nil {
			log.Info("The API server answers", "kubernetes", version)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		log.Error(err, "The API server cannot be used; trying again", "server", s.host, "in", pause.String())
		select {
		case <-ctx.Done():
		case <-s.after(pause):
		}
	}
	return false
}

// versionInTime is Version within the limit.
func (s *APIServer) versionInTime(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("%w within %s", ErrNoAnswer, s.limit))
	defer cancel()
	version, err := s.Version(ctx)
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return version, err
}

// Version returns the version of Kubernetes, or "unknown" if the server answers without it. The error reports why there
// is no answer, or why it cannot be used. Only ctx and the client limit the time.
func (s *APIServer) Version(ctx context.Context) (string, error) {
	body, err := s.client.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Raw()
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return "unknown", nil
	case apierrors.IsUnauthorized(err):
		return "", fmt.Errorf("it does not accept the credentials: %w", err)
	case err != nil:
		return "", err
	}
	var info apiversion.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoVersion, err)
	}
	return info.GitVersion, nil
}

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
