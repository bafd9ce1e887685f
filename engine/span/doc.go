// Package span reports what the engine does as OpenTelemetry traces: a reconcile, its evaluations, and the requests
// that it sends.
//
//	ctx, end := span.Root(ctx, tracer, "reconcile", attribute.String("kanon.rule", "kanon-system/web"))
//	_, endEvaluation := span.Start(ctx, "evaluate") // within the reconcile
//	endEvaluation(nil)
//	client.Transport = span.Transport(client.Transport) // requests with ctx are within the reconcile, too
//	end(err)
//
// Without a tracer, nothing is begun or allocated: only the context is checked. Attributes name objects and never have
// their contents. A request without a span in its context, such as a watch, is not traced.
package span
