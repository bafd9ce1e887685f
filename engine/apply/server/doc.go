// Package server is the API server as the writers of Kanon use it: requests in the name of a field manager, and the schemas of
// kinds.
//
//	api := server.New(dynamicClient, schemas, hasStatus)
//	kind, err := api.Kind(ctx, object.GroupVersionKind())
//	...
//	answer, err := api.PatchSteps(ctx, gvr, ref, server.Strict("kanon-status-x", false), steps, "status")
//
// requests.go sends one request each and returns the API server's own error, which package refusal explains. schemas.go remembers
// what follows from the schema of a kind as long as the kind has it.
//
// What is written, and whether it has to be, is known by those who write: package apply writes children, statuswriter statuses and
// patchwriter patches.
package server
