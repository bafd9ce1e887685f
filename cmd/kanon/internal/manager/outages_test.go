package manager

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
)

// transportFunc is a function as a transport.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// textLogger writes one line for each message.
func textLogger(w io.Writer) logr.Logger { return logr.FromSlogHandler(slog.NewTextHandler(w, nil)) }

func TestOutages(t *testing.T) {
	refused := errors.New("connection refused")
	type request struct {
		at  time.Duration
		err error
	}
	tests := map[string]struct {
		requests []request
		want     []string // level and message of each line of the log
	}{
		"none": {[]request{{0, nil}, {time.Second, nil}}, nil},
		"one, told once": {
			[]request{{0, nil}, {1 * time.Second, refused}, {2 * time.Second, refused}, {11 * time.Second, nil}, {12 * time.Second, nil}},
			[]string{"ERROR The API server cannot be reached", "INFO The API server is reached again after=10s"},
		},
		"a long one, told again each minute": {
			[]request{{0, refused}, {59 * time.Second, refused}, {60 * time.Second, refused}, {61 * time.Second, refused}, {120 * time.Second, refused}},
			[]string{
				"ERROR The API server cannot be reached", "ERROR The API server still cannot be reached since=2026-01-01T00:00:00Z",
				"ERROR The API server still cannot be reached since=2026-01-01T00:00:00Z",
			},
		},
		"two": {
			[]request{{0, refused}, {time.Second, nil}, {2 * time.Second, refused}},
			[]string{"ERROR The API server cannot be reached", "INFO The API server is reached again after=1s", "ERROR The API server cannot be reached"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			now, next := start, error(nil)
			o := &Outages{now: func() time.Time { return now }}
			observed := o.Wrap(transportFunc(func(*http.Request) (*http.Response, error) { return nil, next }))
			var output strings.Builder
			if o.Problem() == nil {
				t.Error("there is no problem before the API server has answered")
			}
			o.Begin(textLogger(&output))
			for _, r := range test.requests {
				now, next = start.Add(r.at), r.err
				if _, err := observed.RoundTrip(newRequest(t.Context(), t)); !errors.Is(err, r.err) {
					t.Errorf("the error of a request became %v", err)
				}
				if problem := o.Problem(); (problem != nil) != (r.err != nil) {
					t.Errorf("after a request with the error %v, the problem is %v", r.err, problem)
				}
			}
			if diff := cmp.Diff(test.want, messages(output.String())); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutagesAreNotOurOwnDoing(t *testing.T) {
	o := &Outages{now: time.Now}
	observed := o.Wrap(transportFunc(func(r *http.Request) (*http.Response, error) { return nil, r.Context().Err() }))
	var output strings.Builder
	o.Begin(textLogger(&output))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = observed.RoundTrip(newRequest(ctx, t))
	if output.Len() > 0 {
		t.Errorf("a request that was broken off is taken for an outage: %s", output.String())
	}
}

func newRequest(ctx context.Context, t *testing.T) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://it.example.com/api", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// messages are the lines of a log without what does not matter here.
func messages(log string) []string {
	line := regexp.MustCompile(`level=(\w+) msg="([^;"]*)[^"]*"(?: err="[^"]*")? server=it.example.com( \w+=\S+)?`)
	var found []string
	for _, m := range line.FindAllStringSubmatch(log, -1) {
		found = append(found, m[1]+" "+m[2]+m[3])
	}
	return found
}
