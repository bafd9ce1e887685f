package tenant

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/client-go/transport"
)

// OutsideError reports that a request was not sent because its identity is confined to another namespace.
type OutsideError struct {
	Identity Identity
	// Path is the path of the URL.
	Path string
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("not sent: the rule is confined to namespace %s, and this is about %s", e.Identity.ServiceAccount.Namespace, e.Path)
}

// Reason returns the reason for a condition. stalled is true: retrying does not help.
func (e *OutsideError) Reason() (reason string, stalled bool) { return "Forbidden", true }

// Wrap is a wrapper for rest.Config. It sends requests with the rights of the ServiceAccount in their context.
// Requests for discovery and schemas keep the identity of the process: their answers are shared by all.
func Wrap(next http.RoundTripper) http.RoundTripper { return roundTripper{next} }

type roundTripper struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	identity, about := FromContext(request.Context()), objectOf(request.URL.EscapedPath())
	if identity.IsZero() || about.none && !about.odd {
		return t.next.RoundTrip(request)
	}
	if identity.Confined && (about.odd || !identity.Permits(about.namespace)) {
		if request.Body != nil {
			_ = request.Body.Close() // as RoundTripper requires
		}
		return nil, &OutsideError{Identity: identity, Path: request.URL.Path}
	}
	request = request.Clone(request.Context())
	for name := range request.Header {
		if strings.HasPrefix(name, "Impersonate-") {
			request.Header.Del(name) // headers from the process's configuration: groups in them must not remain
		}
	}
	request.Header.Set(transport.ImpersonateUserHeader, identity.User())
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper implements net.RoundTripperWrapper, so that client-go finds the transport below.
func (t roundTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

// object is what a request path is about.
type object struct {
	// none is true for paths about no object: discovery and schemas.
	none bool
	// namespace is empty for cluster-scoped objects, and for all namespaces.
	namespace string
	// odd is true for a path that the API server might interpret otherwise: with an escaped, empty, "." or ".."
	// segment.
	odd bool
}

// objectOf parses a path. Paths follow the API conventions: /api/v1/namespaces/NAMESPACE/RESOURCE and
// /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE. A Namespace object is in no namespace.
func objectOf(path string) object {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	odd := strings.Contains(path, "%") || slices.ContainsFunc(segments, func(segment string) bool {
		return segment == "" || segment == "." || segment == ".."
	})
	version := map[string]int{"api": 2, "apis": 3}[segments[0]]
	if version == 0 || len(segments) <= version {
		return object{none: true, odd: odd}
	}
	if segments = segments[version:]; len(segments) > 2 && segments[0] == "namespaces" {
		return object{namespace: segments[1], odd: odd}
	}
	return object{odd: odd}
}
