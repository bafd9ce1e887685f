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
	// noteAfter is how long an answer may take without a word.
	noteAfter = time.Second
	// writeLimit is how long a write may take, also one that is a dry run: webhooks of the cluster are asked, for 30 seconds each at most.
	writeLimit = 35 * time.Second
)

// patience is a transport for a person who waits: it says so if an answer takes a while, and gives up on a server that takes requests and
// answers none. A watch is answered at once, and may go on for ever.
type patience struct {
	next http.RoundTripper
	host string
	// notes is where the person is told; nil: nobody is.
	notes io.Writer

	mu sync.Mutex // guards what follows
	// told is true once notes have a line.
	told bool
	// gaveUp is when a request got no answer. Those that follow at once are not sent, so that several do not add up.
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
	response, err := p.next.RoundTrip(request.WithContext(ctx)) //nolint:bodyclose // who asked closes it
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

// limitOf is how long the answer to a request may take. A review of rights or of a token is created, but the API server answers it without
// webhooks of admission.
func limitOf(request *http.Request) time.Duration {
	path := request.URL.Path
	isReview := strings.Contains(path, "/apis/authorization.k8s.io/") || strings.Contains(path, "/apis/authentication.k8s.io/")
	if request.Method == http.MethodGet || isReview {
		return apiserver.AnswerLimit
	}
	return writeLimit
}

// WrappedRoundTripper lets client-go find the transport below, as its own do.
func (p *patience) WrappedRoundTripper() http.RoundTripper { return p.next }

func (p *patience) say() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.notes != nil && !p.told {
		p.told = true
		_, _ = fmt.Fprintf(p.notes, "Waiting for the API server at %s …\n", p.host) // it is only progress
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

// answer is the body of a response, whose end ends what waits for it.
type answer struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (a *answer) Close() error {
	defer a.done()
	return a.ReadCloser.Close()
}
