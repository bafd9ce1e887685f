// Package operator is the operator that Kanon is compared with. It does the same work, handwritten in Go with
// controller-runtime as a good author would: types are Go structs, built-in kinds are sent as protobuf, reads come from
// caches, writes use CreateOrUpdate, and 16 workers share the queue. Neither the client nor the queue has a noticeable
// rate limit.
//
//	err := operator.Run(ctx, config, operator.Options{Workers: 16, Kinds: 1})
package operator
