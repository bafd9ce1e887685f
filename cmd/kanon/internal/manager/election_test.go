package manager

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// fakeLock is a Lease of this process, of which every request takes a while and ends with err.
type fakeLock struct {
	resourcelock.Interface
	takes time.Duration
	err   error
}

func (l *fakeLock) Identity() string { return "me" }

func (l *fakeLock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	<-time.After(l.takes)
	return l.err
}

func (l *fakeLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: "another"}, nil, nil
}

// Writes pass from when the Lease was taken until it was last renewed too long ago, whatever the election has noticed.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &fakeLock{}
		e := &elector{Interface: inner, times: Election{RenewDeadline: 10 * time.Second}}
		l := e
		gate := e.gate(transportFunc(func(*http.Request) (*http.Response, error) { return nil, nil }))
		send := func(method, path string) error {
			request, err := http.NewRequestWithContext(t.Context(), method, "https://cluster"+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := gate.RoundTrip(request)
			if response != nil {
				_ = response.Body.Close()
			}
			return err
		}
		want := func(when string, passes bool) {
			t.Helper()
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				if err := send(method, "/api/v1/namespaces"); (err == nil) != passes || err != nil && !errors.Is(err, ErrNotLeading) {
					t.Errorf("%s, a %s ends with %v; it passes: %t", when, method, err, passes)
				}
			}
			for path, method := range map[string]string{
				"/api/v1/pods": http.MethodGet,
				"/apis/authorization.k8s.io/v1/subjectaccessreviews": http.MethodPost,
				"/apis/authentication.k8s.io/v1/tokenreviews":        http.MethodPost,
			} {
				if err := send(method, path); err != nil {
					t.Errorf("%s, %s %s ends with %v", when, method, path, err)
				}
			}
		}
		renew := func(holder string) {
			_ = l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: holder}) // the test asks what follows
		}
		want("at the start", false)
		if e.problem() == nil {
			t.Error("it is no problem that nobody is known to lead")
		}
		if _, _, err := l.Get(t.Context()); err != nil || e.problem() != nil {
			t.Errorf("while another one leads: %v, %v", err, e.problem())
		}
		want("while another one leads", false)
		inner.err = errors.New("conflict")
		renew("me")
		want("after a try that failed", false)
		inner.err, inner.takes = nil, 4*time.Second
		renew("me")
		want("once it leads", true)
		<-time.After(5 * time.Second) // 9 s since the request began
		want("before the deadline", true)
		inner.err, inner.takes = errors.New("timeout"), 0
		renew("me")
		<-time.After(time.Second)
		want("after the deadline", false)
		if problem := e.problem(); problem == nil || !strings.Contains(problem.Error(), "has not been renewed") {
			t.Errorf("the problem after the deadline is %v", problem)
		}
		inner.err = nil
		renew("me")
		want("once it is renewed after all", true)
		renew("")
		want("once it was given back", false)
	})
}

func TestElectionIsValidated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lease, renew, retry time.Duration
		wrong               string
	}{
		"the defaults":         {lease: DefaultLeaseDuration, renew: DefaultRenewDeadline, retry: DefaultRetryPeriod},
		"half a second":        {lease: 1500 * time.Millisecond, renew: time.Second, retry: 100 * time.Millisecond, wrong: "whole seconds"},
		"none":                 {renew: time.Second, retry: time.Second, wrong: "whole seconds"},
		"a deadline too late":  {lease: time.Second, renew: time.Second, retry: 100 * time.Millisecond, wrong: "must be less than --leader-elect-lease-duration"},
		"no time for a second": {lease: 5 * time.Second, renew: 4 * time.Second, retry: 4 * time.Second, wrong: "--leader-elect-retry-period"},
		"no pause":             {lease: 5 * time.Second, renew: 4 * time.Second, wrong: "--leader-elect-retry-period"},
	} {
		err := Election{test.lease, test.renew, test.retry}.Validate()
		if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.wrong)
		}
	}
}
