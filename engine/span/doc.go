// Package span has what the engine does shown as traces of OpenTelemetry: a reconcile, the evaluations in it, and each request that
// it sends.
//
//	ctx, end := span.Root(ctx, tracer, "reconcile", attribute.String("kanon.rule", "kanon-system/web"))
//	_, endEvaluation := span.Start(ctx, "evaluate") // within the reconcile
//	endEvaluation(nil)
//	client.Transport = span.Transport(client.Transport) // requests with ctx are within the reconcile, too
//	end(err)
//
// Without a tracer nothing is begun, and nothing is allocated: all that is left is a look into the context. Attributes name objects
// and never have what is in them. A request without a span in its context, such as a watch, is not traced.
package span
