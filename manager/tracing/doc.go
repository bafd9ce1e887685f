// Package tracing sends traces to a collector of OpenTelemetry, as the standard environment variables say.
//
//	traces, err := tracing.New(ctx, os.Getenv, "v0.1.0") // nil without OTEL_EXPORTER_OTLP_ENDPOINT and the like
//	defer traces.Shutdown(ctx)                           // sends what is left
//	tracer := traces.Tracer()                            // nil, too: nothing is traced
//
// What is traced, package engine/span knows. The SDK of OpenTelemetry makes, samples and batches spans, and reads most of the
// variables (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_BSP_*). The request to the collector is this
// package's: OpenTelemetry's own one comes with gRPC, and with html/template, for which the linker keeps every method there is.
package tracing
