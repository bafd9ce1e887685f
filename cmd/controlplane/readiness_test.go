package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestProbe(t *testing.T) {
	const report = "[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\nreadyz check failed\n"
	tests := map[string]struct {
		status int
		body   string
		want   string // the error; empty: none
	}{
		"ready":     {http.StatusOK, "ok", ""},
		"not ready": {http.StatusInternalServerError, report, "/readyz answered 500 Internal Server Error: [-]etcd failed: reason withheld; readyz check failed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			defer server.Close()
			said := ""
			if err := probe(server.Client(), server.URL+"/readyz")(t.Context()); err != nil {
				said = err.Error()
			}
			if said != test.want {
				t.Errorf("error %q, want %q", said, test.want)
			}
		})
	}
}

func TestProbeNobody(t *testing.T) {
	held, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.release() }()
	if err := probeServer(nil, held)(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v, want that the connection was refused", err)
	}
}
