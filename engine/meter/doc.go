// Package meter counts what the engine does. It does not know where the figures go.
//
//	client := meter.NewClient(client, counts) // counts its writes
//
//	work := meter.Begin(rule, counts)
//	ctx = meter.NewContext(ctx, work)
//	out := reconcile(ctx) // its writes and evaluations count for the rule
//	work.End(out.Verdict.String())
//
// A write without a Work in its context is Kanon's own, such as that of a record, and counts for no rule.
package meter
