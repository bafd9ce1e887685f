package tracing

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	defaultEndpoint = "http://localhost:4318"
	tracesPath      = "/v1/traces"
	defaultTimeout  = 10 * time.Second
	// protocol is the only supported one.
	protocol = "http/protobuf"
)

// client sends spans to a collector, configured by the OpenTelemetry specification's variables for exporters.
type client struct {
	http    *http.Client
	url     string
	headers http.Header
}

// newClient reads the variables. A variable for traces overrides the one for all signals.
func newClient(environment func(string) string) (*client, error) {
	variable := func(name string) (value, from string) {
		for _, from := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if value := environment(from); value != "" {
				return value, from
			}
		}
		return "", ""
	}
	if exporter := environment("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER must be otlp or none, not %q", exporter)
	}
	if value, from := variable("PROTOCOL"); value != "" && value != protocol {
		return nil, fmt.Errorf("%s must be %s, not %q: collectors take that at port 4318", from, protocol, value)
	}
	endpoint, from := variable("ENDPOINT")
	address, err := url.Parse(cmp.Or(endpoint, defaultEndpoint))
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, fmt.Errorf("%s must be an address such as %s, not %q", from, defaultEndpoint, endpoint)
	}
	if from != "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" { // that one includes the path
		address = address.JoinPath(tracesPath)
	}
	c := &client{url: address.String(), headers: make(http.Header), http: &http.Client{Timeout: defaultTimeout}}
	if value, from := variable("TIMEOUT"); value != "" {
		milliseconds, err := strconv.Atoi(value)
		if err != nil || milliseconds < 1 {
			return nil, fmt.Errorf("%s must be a number of milliseconds, not %q", from, value)
		}
		c.http.Timeout = time.Duration(milliseconds) * time.Millisecond
	}
	if value, from := variable("HEADERS"); value != "" {
		if err := c.addHeaders(value); err != nil {
			return nil, fmt.Errorf("%s must be NAME=VALUE,… with values as in a URL", from) // without the value, which may be a password
		}
	}
	if path, from := variable("CERTIFICATE"); path != "" {
		if err := c.trust(path); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	}
	return c, nil
}

func (c *client) addHeaders(list string) error {
	for pair := range strings.SplitSeq(list, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		text, err := url.PathUnescape(value)
		if !ok || err != nil || name == "" {
			return fmt.Errorf("%q: %w", name, err)
		}
		c.headers.Set(strings.TrimSpace(name), strings.TrimSpace(text))
	}
	return nil
}

// trust verifies the collector's certificate by those in a file.
func (c *client) trust(path string) error {
	pem, err := os.ReadFile(path)
	if err != nil {
		return err //nolint:wrapcheck // It names the file.
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s has no certificate", path)
	}
	c.http.Transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}
	return nil
}

// Start does nothing: the first spans open the connection.
func (c *client) Start(context.Context) error { return nil }

func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans. Spans that the collector refuses are lost, as traces may be.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData has the same encoding as ExportTraceServiceRequest, whose package depends on gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send spans to %s: %w", c.url, err)
	}
	request.Header = c.headers.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	answer, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("send spans: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16)) // so that the connection can be reused
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("send spans: %s answers %s", c.url, answer.Status)
	}
	return nil
}
