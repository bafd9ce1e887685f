// Package memory has an API server in memory, and the engine on it:
//
//	c, err := memory.New(memory.Options{Kinds: kinds, Program: program, Parent: webapp, Objects: others, Now: now})
//	pass, err := c.Reconcile(ctx)                 // one reconcile of the parent: what it rendered and wrote
//	err = c.Settle(ctx)                           // reconciles until nothing changes
//	err = c.Set(settings)                         // a change by somebody else
//	err = c.Advance(ctx, time.Hour)               // what the rule does when time passes
//	deployment := c.API.Find(gvr, "shop", "web")
//
// An [API] merges, defaults, validates and versions objects as an API server does, with the same code: field managers of
// k8s.io/apimachinery and, for kinds with a definition, k8s.io/apiextensions-apiserver. It collects garbage. It has no
// controllers, admission or quotas, allows every change of a built-in kind, and accepts every namespace. Of the defaults
// of built-in kinds it sets the address of a Service and the phase of a Namespace.
//
// A [Cluster] is an API and an engine.Local: every write is delivered to the engine at once, and reconciles run when its
// caller says so. One goroutine uses it.
//
//	api.go, write.go  the objects, and how they are written; collect.go deletes them
//	client.go         the API as a dynamic client
//	kinds.go          the kinds of a rule, with their schemas
//	cluster.go        the API with the engine, and a clock; tie.go has handwritten objects refer to the parent
package memory
