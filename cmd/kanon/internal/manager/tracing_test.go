package manager_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"kanon.dev/kanon/cmd/kanon/internal/manager"
	"kanon.dev/kanon/engine/telemetry"
)

// collector takes spans as collectors of OpenTelemetry do.
type collector struct {
	*httptest.Server

	mu       sync.Mutex
	received []*tracepb.ResourceSpans
	headers  http.Header
	path     string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err != nil || proto.Unmarshal(body, &data) != nil {
			http.Error(w, "no spans", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.received, c.headers, c.path = append(c.received, data.GetResourceSpans()...), r.Header, r.URL.Path
	}))
	t.Cleanup(c.Close)
	return c
}

// spans are those that were received, each by its name, with the name of the one that it is in.
func (c *collector) spans() map[string]string {
	names := make(map[string]string)
	inside := make(map[string]string)
	for _, resource := range c.received {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				names[string(s.GetSpanId())] = s.GetName()
			}
		}
	}
	for _, resource := range c.received {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				inside[s.GetName()] = names[string(s.GetParentSpanId())]
			}
		}
	}
	return inside
}

// A reconcile, what is evaluated in it and what it requests arrive at the collector as one trace. A request outside of a reconcile is
// not traced, and the server learns of a trace by a header.
func TestTraces(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "kanon-of-team-a") // which the SDK reads
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20token, team=a")
	traces, err := manager.NewTraces(t.Context(), "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var parents []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parents = append(parents, r.Header.Get("Traceparent"))
		w.WriteHeader(http.StatusConflict)
	}))
	defer server.Close()
	client := &http.Client{Transport: telemetry.Transport(http.DefaultTransport)}
	ctx, end := telemetry.Root(t.Context(), traces.Tracer(), "reconcile", attribute.String("kanon.rule", "team-a/web"))
	_, endEvaluation := telemetry.Start(ctx, "evaluate")
	endEvaluation(nil)
	for _, within := range []bool{true, false} {
		requestContext := t.Context()
		if within {
			requestContext = ctx
		}
		request, err := http.NewRequestWithContext(requestContext, http.MethodPatch, server.URL+"/api/v1/namespaces/a/configmaps/web?x=secret", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	end(nil)
	if err := traces.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"reconcile": "", "evaluate": "reconcile", "PATCH": "reconcile"}, c.spans()); diff != "" {
		t.Errorf("the spans and what they are in:\n%s", diff)
	}
	if c.path != "/v1/traces" || c.headers.Get("Authorization") != "Bearer token" || c.headers.Get("Team") != "a" {
		t.Errorf("they were sent to %s with %v", c.path, c.headers)
	}
	if len(parents) != 2 || !strings.HasPrefix(parents[0], "00-") || parents[1] != "" {
		t.Errorf("the server was told of the traces %q", parents)
	}
	text := c.received[0].String()
	for _, want := range []string{"kanon-of-team-a", "v1.2.3", "team-a/web", "/api/v1/namespaces/a/configmaps/web", "409"} {
		if !strings.Contains(text, want) {
			t.Errorf("the spans do not say %s: %s", want, text)
		}
	}
	if strings.Contains(text, "x=secret") {
		t.Error("the spans have a query")
	}
}

func TestEnvironment(t *testing.T) {
	for name, test := range map[string]struct {
		variables map[string]string
		on        bool
		wrong     string
	}{
		"nothing":               {},
		"an endpoint":           {variables: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}, on: true},
		"one for traces":        {variables: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/mine"}, on: true},
		"the default collector": {variables: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, on: true},
		"none":                  {variables: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318", "OTEL_TRACES_EXPORTER": "none"}},
		"disabled":              {variables: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318", "OTEL_SDK_DISABLED": "true"}},
		"another exporter":      {variables: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, wrong: "OTEL_TRACES_EXPORTER must be otlp or none, not \"zipkin\""},
		"no address":            {variables: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4317"}, wrong: "OTEL_EXPORTER_OTLP_ENDPOINT must be an address"},
		"gRPC": {
			variables: map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			wrong:     "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, not \"grpc\"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range test.variables {
				t.Setenv(name, value)
			}
			traces, err := manager.NewTraces(t.Context(), "")
			if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("error %v, want one with %q", err, test.wrong)
			}
			if on := traces != nil && traces.Tracer() != nil; on != test.on {
				t.Errorf("it traces: %t", on)
			}
			if err := traces.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
