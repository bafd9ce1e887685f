package manager_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/util/cert"

	"kanon.dev/kanon/cmd/kanon/internal/manager"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	problem := errors.New("it is filling")
	handler := manager.Health([]manager.Check{{Name: "caches", Problem: func() error { return problem }}})
	for path, want := range map[string]struct {
		code int
		body string
	}{
		"/livez":                 {code: http.StatusOK, body: "ok"},
		"/readyz":                {code: http.StatusInternalServerError, body: "[-]caches failed: reason withheld"},
		"/readyz/caches":         {code: http.StatusInternalServerError, body: "it is filling"},
		"/readyz?exclude=caches": {code: http.StatusOK, body: "ok"},
		"/healthz":               {code: http.StatusNotFound},
	} {
		answer := ask(t, handler, path, "")
		if answer.Code != want.code || !strings.Contains(answer.Body.String(), want.body) {
			t.Errorf("%s: %d %s, want %d with %q", path, answer.Code, answer.Body, want.code, want.body)
		}
	}
	problem = nil
	if answer := ask(t, handler, "/readyz?verbose", ""); answer.Code != http.StatusOK {
		t.Errorf("once it is well: %s", answer.Body)
	}
}

func ask(t *testing.T, handler http.Handler, path, authorization string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

// cluster reviews: a token is the name of its user, and users may get the path that is their name.
type cluster struct {
	authenticationclient.TokenReviewInterface
	down          bool
	tokens, paths int
}

func (c *cluster) Create(_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	c.tokens++
	if c.down {
		return nil, errors.New("down")
	}
	name, known := strings.CutPrefix(review.Spec.Token, "token-of-")
	review.Status.Authenticated, review.Status.User.Username = known, name
	return review, nil
}

type access struct {
	authorizationclient.SubjectAccessReviewInterface
	*cluster
}

func (a access) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	a.paths++
	asked := review.Spec.NonResourceAttributes
	review.Status.Allowed = asked.Verb == "get" && asked.Path == "/"+review.Spec.User
	review.Status.Denied = review.Spec.User == "denied"
	return review, nil
}

func TestReviews(t *testing.T) {
	t.Parallel()
	c := &cluster{}
	handler := manager.NewReviews(c, access{cluster: c}).Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") }))
	for name, test := range map[string]struct {
		path, authorization string
		code                int
	}{
		"permitted":                {path: "/metrics", authorization: "Bearer token-of-metrics", code: http.StatusOK},
		"lower case":               {path: "/metrics", authorization: "bearer token-of-metrics", code: http.StatusOK},
		"another path":             {path: "/metrics/../debug", authorization: "Bearer token-of-metrics", code: http.StatusForbidden},
		"denied outweighs allowed": {path: "/denied", authorization: "Bearer token-of-denied", code: http.StatusForbidden},
		"no token":                 {path: "/metrics", code: http.StatusUnauthorized},
		"an empty token":           {path: "/metrics", authorization: "Bearer ", code: http.StatusUnauthorized},
		"a password":               {path: "/metrics", authorization: "Basic token-of-metrics", code: http.StatusUnauthorized},
		"nobody's token":           {path: "/metrics", authorization: "Bearer bogus", code: http.StatusUnauthorized},
	} {
		answer := ask(t, handler, test.path, test.authorization)
		if answer.Code != test.code || (answer.Code != http.StatusOK) == strings.Contains(answer.Body.String(), "secret") {
			t.Errorf("%s: %d %s, want %d", name, answer.Code, answer.Body, test.code)
		}
	}
	tokens, paths := c.tokens, c.paths
	ask(t, handler, "/metrics", "Bearer token-of-metrics")
	ask(t, handler, "/metrics", "Bearer bogus")
	if c.tokens != tokens || c.paths != paths {
		t.Error("what was answered just now is asked again")
	}
	c.down = true
	if answer := ask(t, handler, "/metrics", "Bearer token-of-other"); answer.Code != http.StatusInternalServerError {
		t.Errorf("while the API server does not answer: %d", answer.Code)
	}
}

// A server answers with the certificate that its files have now, and ends with its context.
func TestServerWithCertificateFiles(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write := func(host string) {
		t.Helper()
		certificate, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
		if err == nil {
			err = errors.Join(os.WriteFile(keyFile, key, 0o600), os.WriteFile(certFile, certificate, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("first.example.com")
	certificate, err := manager.CertificateFiles(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server, err := manager.Listen(ctx, manager.Endpoint{Name: "test", Address: "127.0.0.1:0", Handler: http.NotFoundHandler(), Certificate: certificate})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	names := func() string {
		connection, err := new(tls.Dialer).DialContext(ctx, "tcp", server.Address())
		if err == nil {
			_ = connection.Close()
		}
		var unknown *tls.CertificateVerificationError // nobody vouches for it
		if !errors.As(err, &unknown) {
			t.Fatalf("a handshake ends with %v", err)
		}
		return unknown.UnverifiedCertificates[0].DNSNames[0]
	}
	if got := names(); got != "first.example.com" {
		t.Errorf("the certificate is that of %s", got)
	}
	write("second.example.com")
	if got := names(); got != "second.example.com" {
		t.Errorf("it goes on with the certificate of %s", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestCertificateWithoutFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := manager.CertificateFiles(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")); err == nil {
		t.Error("files that do not exist are no error")
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	first, err := manager.Listen(t.Context(), manager.Endpoint{Name: "first", Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := manager.Listen(t.Context(), manager.Endpoint{Name: "health", Address: first.Address()}); err == nil || !strings.Contains(err.Error(), "serve health: ") {
		t.Errorf("the error is %v", err)
	}
}

// The certificate that the process makes for itself is made once.
func TestSelfSigned(t *testing.T) {
	t.Parallel()
	get := manager.SelfSigned("kanon")
	first, err := get(nil)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := get(nil); err != nil || second != first || first.Leaf.DNSNames[0] != "kanon" {
		t.Errorf("%v, %v", second, err)
	}
}
