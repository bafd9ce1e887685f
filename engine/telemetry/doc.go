// Package telemetry counts what the engine does, and reports it as OpenTelemetry traces. It does not know where the
// figures go.
//
//	client := telemetry.NewClient(client, counts) // counts its writes
//
//	work := telemetry.Begin(rule, counts)
//	ctx = telemetry.NewContext(ctx, work)
//	ctx, end := telemetry.Root(ctx, tracer, "reconcile")
//	out := reconcile(ctx) // its writes and evaluations count for the rule, and its requests are spans of the trace
//	end(out.Err)
//	work.End(out.Verdict.String())
//
// A write without a Work in its context is Kanon's own, such as that of a record, and counts for no rule. Without a
// tracer, nothing is begun or allocated. Attributes name objects and never have their contents. A request without a span
// in its context, such as a watch, is not traced.
package telemetry
