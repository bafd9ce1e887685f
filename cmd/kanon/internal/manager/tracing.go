package manager

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"kanon.dev/kanon/engine/telemetry"
)

// serviceName is Kanon's name, unless OTEL_SERVICE_NAME overrides it.
const serviceName = "kanon"

// Traces sends traces. A nil Traces sends none.
type Traces struct{ provider *sdktrace.TracerProvider }

// NewTraces sets up the sending of spans, by OpenTelemetry's environment variables. It returns nil if no collector is
// configured, or if tracing is turned off. The error is about a variable.
func NewTraces(ctx context.Context, version string) (*Traces, error) {
	if isOn, err := tracingIsOn(); err != nil || !isOn {
		return nil, err
	}
	log := logr.FromContextOrDiscard(ctx)
	otel.SetLogger(log)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "Traces cannot be sent") })) // the SDK has no other hook
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("set up traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName(serviceName), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return &Traces{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))}, nil
}

// tracingIsOn reports whether a collector is configured. The exporter would only log what is wrong with a variable.
func tracingIsOn() (bool, error) {
	exporter, endpoint := os.Getenv("OTEL_TRACES_EXPORTER"), ""
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		value := os.Getenv(name)
		if address, err := url.Parse(value); value != "" && (err != nil || address.Host == "") {
			return false, fmt.Errorf("%s must be an address such as http://localhost:4318, not %q", name, value)
		}
		endpoint += value
	}
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	switch {
	case exporter+endpoint == "", exporter == "none", strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"):
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER must be otlp or none, not %q", exporter)
	case protocol != "http/protobuf":
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, not %q: collectors take that at port 4318", protocol)
	}
	return true, nil
}

// Tracer returns the tracer; nil if nothing is traced.
func (t *Traces) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(telemetry.Name)
}

// Shutdown sends the remaining spans.
func (t *Traces) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}
