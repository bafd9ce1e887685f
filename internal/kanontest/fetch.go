package kanontest

import (
	"crypto/tls"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Fetch gets a path of an endpoint, "health" or "metrics". Kanon chose the port and logged it. token is a bearer token;
// if it is empty, none is sent.
func (p *Process) Fetch(tb testing.TB, endpoint, path, token string) (code int, body string) {
	tb.Helper()
	line, err := p.AwaitLog(regexp.MustCompile(`msg"?[=:]"?Serving"? ?,?"?endpoint"?[=:]"?` + endpoint + `\b`))
	if err != nil {
		tb.Fatal(err)
	}
	address := regexp.MustCompile(`https?://[^" ]+`).FindString(line)
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, address+path, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	if token = strings.TrimSpace(token); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is self-signed
	}}
	response, err := client.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode, string(content)
}
