package watch_test

import (
	"io"
	"net/http"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/internal/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// requests counts what a client sends.
type requests struct {
	mu      sync.Mutex
	watches int         // open now
	sent    chan string // the path of each request of a list or a watch, as it is sent
}

// record returns a copy of cfg whose requests are counted.
func record(cfg *rest.Config) (*rest.Config, *requests) {
	r := &requests{sent: make(chan string, 10_000)}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			watch := request.URL.Query().Get("watch") == "true"
			r.begin(request.URL.Path, watch)
			response, err := next.RoundTrip(request)
			if watch && err != nil {
				r.endWatch()
			}
			if watch && err == nil {
				response.Body = &closer{ReadCloser: response.Body, closed: r.endWatch}
			}
			return response, err
		})
	})
	return cfg, r
}

func (r *requests) begin(path string, watch bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if watch {
		r.watches++
	}
	r.sent <- path
}

func (r *requests) endWatch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches--
}

// openWatches is how many watches are open now.
func (r *requests) openWatches() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watches
}

// drain forgets the paths that were sent so far.
func (r *requests) drain() {
	for {
		select {
		case <-r.sent:
		default:
			return
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type closer struct {
	io.ReadCloser
	once   sync.Once
	closed func()
}

func (c *closer) Close() error {
	c.once.Do(c.closed)
	return c.ReadCloser.Close()
}

// verifyNoLeaks fails t if goroutines that begin from now on outlive it. Idle
// connections are kept by net/http for later requests.
func verifyNoLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		goleak.VerifyNone(t, before,
			goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
			goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
			goleak.IgnoreAnyFunction("net/http.(*http2ClientConn).readLoop"),
			goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"),
		)
	})
}
