// Package world watches the parents and their children on the API server, so that
// an engine's work is timed by its results, and makes the work: it creates,
// changes and deletes parents, and spoils children.
//
// A goal is what should come true of every parent of some. It is set before what
// brings it about is begun, so that its time is that of the event that completed
// it:
//
//	done := w.Expect(names, world.Converged("1", 0))
//	err := w.Create(ctx, names, "1", 0)
//	at, err := done.Wait(ctx)
package world
