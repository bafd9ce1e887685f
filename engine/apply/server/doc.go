// Package server is the API server as Kanon's writers use it: requests by a field manager, and the schemas of kinds.
//
//	api := server.New(dynamicClient, schemas, hasStatus)
//	kind, err := api.Kind(ctx, object.GroupVersionKind())
//	...
//	answer, err := api.PatchSteps(ctx, gvr, ref, server.Strict("kanon-status-x", false), steps, "status")
//
// Each function in requests.go sends one request and returns the API server's own error, which package refusal
// interprets. schemas.go caches what follows from the schema of a kind.
//
// The writers decide what is written and when: package apply writes children, statuswriter statuses and patchwriter
// patches.
package server
