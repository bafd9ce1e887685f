// Package operator is the operator that Kanon is compared with: the same work,
// written by hand in Go as a good author would with controller-runtime. Types are
// Go structs, built-in kinds travel as protobuf, reads come from caches, writes
// go through CreateOrUpdate, 16 workers share the queue, and neither the client
// nor the queue has a rate limit that would be felt.
//
//	err := operator.Run(ctx, config, operator.Options{Workers: 16, Kinds: 1})
package operator
