// Package tracing sends traces to an OpenTelemetry collector, configured by the standard environment variables.
//
//	traces, err := tracing.New(ctx, os.Getenv, "v0.1.0") // nil without OTEL_EXPORTER_OTLP_ENDPOINT and the like
//	defer traces.Shutdown(ctx) // sends the remaining spans
//	tracer := traces.Tracer() // also nil then: nothing is traced
//
// Package engine/span decides what is traced. The OpenTelemetry SDK makes, samples and batches spans, and reads most of
// the variables (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_BSP_*). This package sends the
// request to the collector: OpenTelemetry's own exporter depends on gRPC and on html/template, which has the linker
// keep every exported method.
package tracing
