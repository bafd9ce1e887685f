package live

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/author/redact"
)

func newCollector() *collector {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &collector{BundleOptions{Config: &rest.Config{}, Now: now}, &Bundle{
		Name: "kanon-support", made: now, files: make(map[string][]byte), values: make(redact.Values), checked: true,
	}}
}

// secret is one with a key in lines, and one that helm keeps.
func secret(kind, key, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"type": kind, "data": map[string]any{key: base64.StdEncoding.EncodeToString([]byte(value))},
	}}
}

// What stands in a Secret is hidden in every text and every object, whatever a text made of its lines, and in what could not be read.
func TestValuesAreHidden(t *testing.T) {
	t.Parallel()
	c := newCollector()
	noteSecret(c.values, secret("Opaque", "key", "-----BEGIN KEY-----\nc2VjcmV0LWxpbmUtb2Yta2V5\n-----END KEY-----\n"))
	noteSecret(c.values, secret("Opaque", "password", "hunter2-hunter2"))
	noteSecret(c.values, secret("helm.sh/release.v1", "release", "a-release-that-helm-keeps"))
	noteSecret(c.values, secret(string(corev1.SecretTypeServiceAccountToken), "namespace", "kube-system"))
	c.addText("known.txt", "kube-system")
	c.addText("rules.txt", "rule web hunter2-hunter2\n")
	c.addYAML("rule.yaml", map[string]any{"data": "key: |\n    c2VjcmV0LWxpbmUtb2Yta2V5\n", "encoded": "aHVudGVyMi1odW50ZXIy"})
	c.addText("helm.txt", "a-release-that-helm-keeps")
	c.lacks("events.txt", errors.New("it says hunter2-hunter2"))
	var archive bytes.Buffer
	if err := c.Write(&archive); err != nil {
		t.Fatal(err)
	}
	files := read(t, &archive)
	for name, text := range files {
		for _, marker := range []string{"hunter2", "c2VjcmV0LWxpbmUtb2Yta2V5", "aHVudGVyMi1odW50ZXIy"} {
			if strings.Contains(text, marker) {
				t.Errorf("%s has %s: %s", name, marker, text)
			}
		}
	}
	if files["kanon-support/helm.txt"] != "a-release-that-helm-keeps" {
		t.Error("what helm keeps counts as a value")
	}
	if text := files["kanon-support/known.txt"]; strings.Contains(text, redact.Hidden) {
		t.Errorf("what is no secret is hidden: %s", text)
	}
	if contents := files["kanon-support/contents.txt"]; !strings.Contains(contents, "\n  rule.yaml\n") || !strings.Contains(contents, "  events.txt: it says (hidden)\n") {
		t.Error(contents)
	}
}

func read(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	compressed, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for in := tar.NewReader(compressed); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}

// Metrics and profiles are read with the token, and never from a server elsewhere that cannot be verified.
func TestMetrics(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer good":
			http.Error(w, "Unauthorized: no token", http.StatusUnauthorized)
		case r.URL.Path == "/debug/pprof/heap":
			http.Error(w, "Forbidden: no\nmore", http.StatusForbidden)
		default:
			_, _ = io.WriteString(w, r.URL.String()+"\n")
		}
	}))
	defer server.Close()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	host := strings.ReplaceAll(address.Host, ":", "-")
	for token, want := range map[string]struct{ files, unread []string }{
		"good": {
			[]string{"metrics/" + host + ".txt", "profiles/" + host + "-goroutines.txt"},
			[]string{"profiles/" + host + "-heap.pprof: " + server.URL + "/debug/pprof/heap answers 403 Forbidden: Forbidden: no"},
		},
		"bad": {nil, []string{
			"metrics/" + host + ".txt: " + server.URL + "/metrics answers 401 Unauthorized: Unauthorized: no token",
			"profiles/" + host + "-heap.pprof: " + server.URL + "/debug/pprof/heap answers 401 Unauthorized: Unauthorized: no token",
			"profiles/" + host + "-goroutines.txt: " + server.URL + "/debug/pprof/goroutine?debug=1 answers 401 Unauthorized: Unauthorized: no token",
		}},
	} {
		c := newCollector()
		c.Metrics, c.Token = []*url.URL{address}, token
		c.addMetrics(t.Context())
		if diff := cmp.Diff(want.files, c.Files()); diff != "" {
			t.Errorf("%s: files\n%s", token, diff)
		}
		if diff := cmp.Diff(want.unread, c.Unread()); diff != "" {
			t.Errorf("%s: unread\n%s", token, diff)
		}
	}
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, "kanon.example.com": false, "10.0.0.1": false} {
		if isLoopback(host) != want {
			t.Errorf("%s counts as this machine: %t", host, !want)
		}
	}
}
