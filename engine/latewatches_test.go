package engine_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// envDelayWatches is the environment variable for [delayWatches]: the longest delay of watches, a duration such as 1s.
const envDelayWatches = "KANON_TEST_DELAY_WATCHES"

const (
	// delayedChunk is the most that is read from a watch at once. delayedChunks is how many such pieces may be delayed
	// at a time.
	delayedChunk  = 8 << 10
	delayedChunks = 256
)

// delayWatches delays the events of a client's watches, if the environment says so. Each watch has its own random
// delay, and half of them have none. So the events of one watch come before older ones of another watch. A test passes
// only if it does not rely on their order.
func delayWatches(tb testing.TB, config *rest.Config) {
	tb.Helper()
	text := os.Getenv(envDelayWatches)
	if text == "" {
		return
	}
	limit, err := time.ParseDuration(text)
	if err != nil || limit <= 0 {
		tb.Fatalf("%s is %q, want a duration such as 1s", envDelayWatches, text)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &lateWatches{next: next, delay: func(*http.Request) time.Duration {
			if rand.N(2) == 0 {
				return 0
			}
			return rand.N(limit)
		}}
	})
}

// delayWatchesOf delays the events of each watch of a resource.
func delayWatchesOf(config *rest.Config, resource string, delay time.Duration) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &lateWatches{next: next, delay: func(r *http.Request) time.Duration {
			if path.Base(r.URL.Path) == resource {
				return delay
			}
			return 0
		}}
	})
}

// lateWatches is a transport that delays each watch. delay returns the delay for a request.
type lateWatches struct {
	next  http.RoundTripper
	delay func(*http.Request) time.Duration
}

func (l *lateWatches) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(r)
	if err != nil || r.URL.Query().Get("watch") == "" {
		return response, err
	}
	if delay := l.delay(r); delay > 0 {
		response.Body = newLateBody(response.Body, delay)
	}
	return response, nil
}

// lateBody returns what a body has after a delay, in the same order.
type lateBody struct {
	body   io.ReadCloser
	delay  time.Duration
	chunks chan lateChunk
	rest   lateChunk // taken from chunks, and not yet read
	closed chan struct{}
	once   sync.Once
}

type lateChunk struct {
	due  time.Time
	data []byte
	err  error // after the data
}

func newLateBody(body io.ReadCloser, delay time.Duration) *lateBody {
	b := &lateBody{body: body, delay: delay, chunks: make(chan lateChunk, delayedChunks), closed: make(chan struct{})}
	go b.fill()
	return b
}

// fill reads the body until it ends; Close ends it.
func (b *lateBody) fill() {
	for {
		data := make([]byte, delayedChunk)
		n, err := b.body.Read(data)
		select {
		case b.chunks <- lateChunk{due: time.Now().Add(b.delay), data: data[:n], err: err}:
		case <-b.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

func (b *lateBody) Read(p []byte) (int, error) {
	for len(b.rest.data) == 0 {
		if b.rest.err != nil {
			return 0, b.rest.err
		}
		select {
		case b.rest = <-b.chunks:
		case <-b.closed:
			return 0, io.EOF
		}
		due := time.NewTimer(time.Until(b.rest.due))
		select {
		case <-due.C:
		case <-b.closed:
			due.Stop()
			return 0, io.EOF
		}
	}
	n := copy(p, b.rest.data)
	b.rest.data = b.rest.data[n:]
	return n, nil
}

func (b *lateBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.body.Close()
}
