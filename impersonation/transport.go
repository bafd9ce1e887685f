package impersonation

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/transport"
)

// OutsideError says that a request was not sent, because who it was for is confined to another namespace.
type OutsideError struct {
	Identity Identity
	// Path is the path of the URL.
	Path string
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("not sent: the rule is confined to namespace %s, and this is about %s", e.Identity.ServiceAccount.Namespace, e.Path)
}

// Reason is that of a condition, and true: nothing changes until somebody changes something.
func (e *OutsideError) Reason() (reason string, stalled bool) { return "Forbidden", true }

// Wrap has requests sent with the rights of the ServiceAccount in their context. It is a wrapper as rest.Config takes.
func Wrap(next http.RoundTripper) http.RoundTripper { return roundTripper{next} }

type roundTripper struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	identity := FromContext(request.Context())
	if identity.IsZero() {
		return t.next.RoundTrip(request)
	}
	if namespace, ok := namespaceOf(request.URL.EscapedPath()); identity.Confined && (!ok || !identity.Permits(namespace)) {
		closeBody(request)
		return nil, &OutsideError{Identity: identity, Path: request.URL.Path}
	}
	request = request.Clone(request.Context())
	for name := range request.Header {
		if strings.HasPrefix(name, "Impersonate-") {
			request.Header.Del(name) // what the process was started with: groups of others must not stay
		}
	}
	request.Header.Set(transport.ImpersonateUserHeader, identity.User())
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the transport below, as its own do.
func (t roundTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

// closeBody does what a RoundTripper must that does not send a request.
func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}

// namespaceOf is the namespace of the objects that a path is about; empty for what is in none, and for what is in all. ok is false
// for a path that the API server could read otherwise: one with an escaped segment, or with one that goes up.
//
// The paths are those of the API conventions: /api/v1/namespaces/NAMESPACE/RESOURCE and
// /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE. A Namespace itself is in no namespace.
func namespaceOf(path string) (namespace string, ok bool) {
	if strings.Contains(path, "%") {
		return "", false
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, segment := range segments {
		if segment == "" || segment == "." || segment == ".." {
			return "", false
		}
	}
	switch {
	case segments[0] == "api" && len(segments) > 2:
		segments = segments[2:]
	case segments[0] == "apis" && len(segments) > 3:
		segments = segments[3:]
	default:
		return "", true
	}
	if len(segments) > 2 && segments[0] == "namespaces" {
		return segments[1], true
	}
	return "", true
}
