package cli

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kanon.dev/kanon/cmd/kanon/internal/manager"
)

// transport is a function as a transport.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// after is a server that answers after a while; -1: never.
func after(pause time.Duration) transport {
	return func(r *http.Request) (*http.Response, error) {
		timer := time.After(pause)
		if pause < 0 {
			timer = nil
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-timer:
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
		}
	}
}

func TestPatience(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		method  string
		path    string
		takes   time.Duration // of the answer
		answers bool
		waited  time.Duration
	}{
		"an answer at once":         {http.MethodGet, "/api", 0, true, 0},
		"a slow answer":             {http.MethodGet, "/api", 4 * time.Second, true, 4 * time.Second},
		"no answer":                 {http.MethodGet, "/api", -1, false, 5 * time.Second},
		"a write that webhooks see": {http.MethodPatch, "/api", 30 * time.Second, true, 30 * time.Second},
		"no answer to a write":      {http.MethodPost, "/api", -1, false, 35 * time.Second},
		"no answer on rights":       {http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", -1, false, 5 * time.Second},
		"no answer on who it is":    {http.MethodPost, "/proxy/apis/authentication.k8s.io/v1/selfsubjectreviews", -1, false, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := patience{after(tc.takes)}
				begin := time.Now()
				answered, err := send(t, p, tc.method, tc.path)
				if answered != tc.answers || !answered && !errors.Is(err, manager.ErrNoAnswer) {
					t.Errorf("answered: %t, %v", answered, err)
				}
				if waited := time.Since(begin); waited != tc.waited {
					t.Errorf("it took %s, want %s", waited, tc.waited)
				}
			})
		})
	}
}

// A body can be read for as long as it takes.
func TestPatienceWithWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var done <-chan struct{}
		p := patience{transport(func(r *http.Request) (*http.Response, error) {
			done = r.Context().Done()
			return after(0)(r)
		})}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://it/api", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := p.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		select {
		case <-done:
			t.Error("the watch was ended")
		default:
		}
		_ = response.Body.Close()
		<-done
	})
}

func send(t *testing.T, p patience, method, path string) (answered bool, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://it"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := p.RoundTrip(request)
	if err != nil {
		return false, err
	}
	return true, response.Body.Close()
}
