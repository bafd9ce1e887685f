package manager

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// answers makes an API server that gives one answer to each request, the last
// one again and again.
func answers(t *testing.T, each ...http.HandlerFunc) *APIServer {
	t.Helper()
	requests := 0
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := each[min(requests, len(each)-1)]
		requests++
		answer(w, r)
	}))
	t.Cleanup(fake.Close)
	kinds, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: fake.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return &APIServer{client: kinds.RESTClient(), host: fake.URL, limit: time.Minute, after: func(time.Duration) <-chan time.Time {
		now := make(chan time.Time)
		close(now)
		return now
	}}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func version136(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(`{"major": "1", "minor": "36", "gitVersion": "v1.36.3"}`))
}

// silence does not answer until the client gives up.
func silence(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestServerIsAwaited(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }
	tests := map[string]struct {
		reason string
		first  http.HandlerFunc
		limit  time.Duration
		want   []string // what each line of the log has
	}{
		"there":        {"the version is told", version136, time.Minute, []string{"kubernetes=v1.36.3"}},
		"overloaded":   {"it may pass", status(http.StatusServiceUnavailable), time.Minute, []string{"cannot be used", "kubernetes=v1.36.3"}},
		"unauthorized": {"a token may be renewed", status(http.StatusUnauthorized), time.Minute, []string{"does not accept the credentials", "kubernetes=v1.36.3"}},
		"forbidden":    {"who may not see the version may see enough", status(http.StatusForbidden), time.Minute, []string{"kubernetes=unknown"}},
		"no answer":    {"a firewall says nothing", silence, 2 * time.Second, []string{"no answer within 2s", "kubernetes=v1.36.3"}},
		"another one":  {"it is no API server", page, time.Minute, []string{"no version of Kubernetes", "kubernetes=v1.36.3"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := answers(t, test.first, version136)
			s.limit = test.limit
			var output strings.Builder
			if !s.Await(logr.NewContext(t.Context(), textLogger(&output))) {
				t.Error("it was not awaited")
			}
			lines := strings.Split(strings.TrimSuffix(output.String(), "\n"), "\n")
			if len(lines) != len(test.want) {
				t.Fatalf("%s: the log says\n%s\nwant lines with %q", test.reason, output.String(), test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("%s: line %d of the log is %q, want %q in it", test.reason, i+1, lines[i], want)
				}
			}
		})
	}
}

func TestServerIsAwaitedWithGrowingPauses(t *testing.T) {
	s := answers(t, status(http.StatusServiceUnavailable))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pauses []string
	s.after = func(pause time.Duration) <-chan time.Time {
		pauses = append(pauses, pause.String())
		if len(pauses) == 7 {
			cancel()
			return nil
		}
		now := make(chan time.Time)
		close(now)
		return now
	}
	if s.Await(ctx) {
		t.Error("a server that is not there was found")
	}
	if diff := cmp.Diff([]string{"1s", "2s", "4s", "8s", "15s", "15s", "15s"}, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
}

func TestServerIsNotAwaitedAfterTheEnd(t *testing.T) {
	s := answers(t, silence)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	var output strings.Builder
	if s.Await(logr.NewContext(ctx, textLogger(&output))) {
		t.Error("a server that is not there was found")
	}
	if output.Len() > 0 {
		t.Errorf("the log has %q about a wait that was broken off", output.String())
	}
}
