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

// serviceName is that of Kanon, unless OTEL_SERVICE_NAME says otherwise.
const serviceName = "kanon"

// Traces sends traces. The nil one sends none.
type Traces struct{ provider *sdktrace.TracerProvider }

// New reads the environment, and begins to send what is traced. It returns nil where no collector is named, or nothing is to be traced.
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
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "Traces cannot be sent") })) // it has no other place
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName(serviceName), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return &Traces{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))}, nil
}

// isOn reports whether something is to be traced.
func isOn(environment func(string) string) bool {
	exporter := environment("OTEL_TRACES_EXPORTER")
	named := environment("OTEL_EXPORTER_OTLP_ENDPOINT")+environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")+exporter != ""
	return named && exporter != "none" && !strings.EqualFold(environment("OTEL_SDK_DISABLED"), "true")
}

// Tracer begins traces. It is nil where there are none.
func (t *Traces) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(span.Name)
}

// Shutdown sends what was not sent yet.
func (t *Traces) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}
