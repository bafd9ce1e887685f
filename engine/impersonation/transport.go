package impersonation

import (
	"fmt"
	"net/http"
	"slices"
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

// Wrap has requests sent with the rights of the ServiceAccount in their context. It is a wrapper as rest.Config takes. Requests for
// the kinds that there are, and for their schemas, stay those of the process: their answers serve all.
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
			_ = request.Body.Close() // as a RoundTripper must
		}
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

// object is what a path is about.
type object struct {
	// none is true for what is about no object: the kinds that there are, and their schemas.
	none bool
	// namespace is empty for cluster-scoped objects, and for those of all namespaces.
	namespace string
	// odd is true for a path that the API server could read otherwise: one with an escaped segment, or with one that goes up.
	odd bool
}

// objectOf tells what a path is about. The paths are those of the API conventions: /api/v1/namespaces/NAMESPACE/RESOURCE and
// /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE. A Namespace itself is in no namespace.
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
