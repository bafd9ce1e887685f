package connection

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"kanon.dev/kanon/manager/apiserver"
)

const (
	// noteAfter is how long an answer may take before a message is printed.
	noteAfter = time.Second
	// writeLimit bounds a write, including dry runs. Admission webhooks may take 30 seconds each.
	writeLimit = 35 * time.Second
)

// patience is a transport for interactive commands. It prints a message if an answer takes a while, and gives up on a
// server that accepts requests but does not answer. The body of a response, such as a watch, is not limited.
type patience struct {
	next http.RoundTripper
	host string
	// notes receives the message; nil: none is printed.
	notes io.Writer

	mu sync.Mutex // guards the fields below
	// told is true once the message was printed.
	told bool
	// gaveUp is the time of the last request without an answer. Requests soon after it fail immediately, so that
	// timeouts do not add up.
	gaveUp time.Time
}

// RoundTrip implements http.RoundTripper.
func (p *patience) RoundTrip(request *http.Request) (*http.Response, error) {
	limit := limitOf(request)
	noAnswer := fmt.Errorf("%w within %s; --request-timeout waits longer", apiserver.ErrNoAnswer, limit)
	if p.hasGivenUp() {
		return nil, noAnswer
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	note := time.AfterFunc(noteAfter, p.say)
	end := time.AfterFunc(limit, func() { cancel(noAnswer) })
	response, err := p.next.RoundTrip(request.WithContext(ctx)) //nolint:bodyclose // the caller closes it
	note.Stop()
	end.Stop()
	if err != nil {
		if context.Cause(ctx) == noAnswer { //nolint:errorlint // this very one
			p.giveUp()
			err = noAnswer
		}
		cancel(nil)
		return nil, err
	}
	response.Body = &answer{ReadCloser: response.Body, done: func() { cancel(nil) }}
	return response, nil
}

// limitOf bounds the time for an answer. Reviews of rights and tokens are POST requests, but they have no admission
// webhooks.
func limitOf(request *http.Request) time.Duration {
	path := request.URL.Path
	isReview := strings.Contains(path, "/apis/authorization.k8s.io/") || strings.Contains(path, "/apis/authentication.k8s.io/")
	if request.Method == http.MethodGet || isReview {
		return apiserver.AnswerLimit
	}
	return writeLimit
}

// WrappedRoundTripper lets client-go find the wrapped transport, as its own wrappers do.
func (p *patience) WrappedRoundTripper() http.RoundTripper { return p.next }

func (p *patience) say() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.notes != nil && !p.told {
		p.told = true
		_, _ = fmt.Fprintf(p.notes, "Waiting for the API server at %s …\n", p.host) // progress is not essential
	}
}

func (p *patience) giveUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaveUp = time.Now()
}

func (p *patience) hasGivenUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.gaveUp.IsZero() && time.Since(p.gaveUp) < apiserver.AnswerLimit
}

// answer is the body of a response. Closing it ends the request's context.
type answer struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (a *answer) Close() error {
	defer a.done()
	return a.ReadCloser.Close()
}
