package telemetry

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
)

// Name is the name of the tracer.
const Name = "kanon.dev/kanon"

// nothing is the end of a span that was not begun.
func nothing(error) {}

// Root begins a trace. Call end with the error of what was done, or nil. A nil tracer begins none.
func Root(ctx context.Context, tracer trace.Tracer, name string, attributes ...attribute.KeyValue) (inside context.Context, end func(error)) {
	if tracer == nil {
		return ctx, nothing
	}
	inside, span := tracer.Start(ctx, name, trace.WithNewRoot(), trace.WithAttributes(attributes...))
	return inside, ending(span)
}

// Start begins a span within the span of the context, if that is recorded.
func Start(ctx context.Context, name string) (inside context.Context, end func(error)) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nothing
	}
	inside, span := parent.TracerProvider().Tracer(Name).Start(ctx, name)
	return inside, ending(span)
}

// Describe adds an attribute to the span of the context, if that is recorded.
func Describe(ctx context.Context, key, value string) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(attribute.String(key, value))
	}
}

func ending(span trace.Span) func(error) {
	return func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// Transport makes a span for each request within a span. The API server's own spans are its children.
func Transport(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ http.RoundTripper }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	parent := trace.SpanFromContext(r.Context())
	if !parent.IsRecording() {
		return t.RoundTripper.RoundTrip(r) //nolint:wrapcheck // It stands in for the transport.
	}
	ctx, span := parent.TracerProvider().Tracer(Name).Start(r.Context(), r.Method, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.ServerAddress(r.URL.Hostname()), semconv.URLPath(r.URL.Path)))
	defer span.End()
	r = r.Clone(ctx)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	response, err := t.RoundTripper.RoundTrip(r)
	switch {
	case err != nil:
		span.SetStatus(codes.Error, err.Error())
	case response.StatusCode >= http.StatusBadRequest:
		span.SetStatus(codes.Error, response.Status)
		fallthrough
	default:
		span.SetAttributes(semconv.HTTPResponseStatusCode(response.StatusCode))
	}
	return response, err //nolint:wrapcheck // As above.
}

// WrappedRoundTripper returns the underlying transport, as client-go asks for it.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
