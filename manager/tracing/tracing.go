package tracing

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"kanon.dev/kanon/engine/span"
)

// serviceName is Kanon's name, unless OTEL_SERVICE_NAME overrides it.
const serviceName = "kanon"

// Traces sends traces. A nil Traces sends none.
type Traces struct{ provider *sdktrace.TracerProvider }

// New reads the environment and sets up the sending of spans. It returns nil if no collector is configured, or if
// tracing is turned off.
func New(ctx context.Context, environment func(name string) string, version string) (*Traces, error) {
	if !isOn(environment) {
		return nil, nil
	}
	client, err := newClient(environment)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("set up traces: %w", err)
	}
	log := logr.FromContextOrDiscard(ctx)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "Traces cannot be sent") })) // the SDK has no other hook
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName(serviceName), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return &Traces{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))}, nil
}

// isOn reports whether tracing is configured.
func isOn(environment func(string) string) bool {
	exporter := environment("OTEL_TRACES_EXPORTER")
	named := environment("OTEL_EXPORTER_OTLP_ENDPOINT")+environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")+exporter != ""
	return named && exporter != "none" && !strings.EqualFold(environment("OTEL_SDK_DISABLED"), "true")
}

// Tracer returns the tracer; nil if nothing is traced.
func (t *Traces) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(span.Name)
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
