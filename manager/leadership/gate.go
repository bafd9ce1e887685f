package leadership

import (
	"errors"
	"net/http"
	"strings"
)

// ErrNotLeading is the error of a write that was not sent, because another Kanon may lead.
var ErrNotLeading = errors.New("not sent: this Kanon does not lead")

// Gate passes writes to next only while this Kanon leads. It is a wrapper for rest.Config.
func (e *Elector) Gate(next http.RoundTripper) http.RoundTripper { return gate{next: next, elector: e} }

type gate struct {
	next    http.RoundTripper
	elector *Elector
}

// RoundTrip implements http.RoundTripper.
func (g gate) RoundTrip(request *http.Request) (*http.Response, error) {
	if isWrite(request) && !g.elector.mayWrite() {
		if request.Body != nil {
			_ = request.Body.Close() // RoundTrippers must close it
		}
		return nil, ErrNotLeading
	}
	return g.next.RoundTrip(request)
}

// WrappedRoundTripper gives client-go access to next, like its own transports.
func (g gate) WrappedRoundTripper() http.RoundTripper { return g.next }

// isWrite reports whether a request changes anything. Reviews are POSTs that change nothing.
func isWrite(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	case http.MethodPost:
		for _, group := range []string{"/apis/authorization.k8s.io/", "/apis/authentication.k8s.io/"} {
			if strings.Contains(request.URL.Path, group) {
				return false
			}
		}
	}
	return true
}
