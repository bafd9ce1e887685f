// Package world watches parents and children on the API server, so that an engine is timed by its results. It also
// makes the work: it creates, changes and deletes parents, and edits children.
//
// A goal is a state that each of some parents should reach. It is set before the cause, so that its time is that of the
// event that completed it:
//
//	done := w.Expect(names, world.Converged("1", 0))
//	err := w.Create(ctx, names, "1", 0)
//	at, err := done.Wait(ctx)
package world
