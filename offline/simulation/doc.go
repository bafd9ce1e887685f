// Package simulation runs a rule for one parent in a cluster that exists in memory only, one change after the other: what takes
// several reconciles in a cluster takes several here.
//
//	s, err := simulation.New(simulation.Options{Program: program, Parent: webapp, Now: time.Now()})
//	state, err := s.Settle(ctx)        // state.Children["deployment"]: created, and not ready
//	err = s.SetReady("deployment")     // as its controller would
//	state, err = s.Settle(ctx)         // state.Parent has a condition Ready that is true
//
// Each evaluation is a preview, so it is the engine's own. What the API server and the engine do between evaluations is
// reproduced as far as it shows in the outcome: children have owner references, marks and their own resourceVersion, fields are
// removed when they are no longer rendered, children are pruned, recreated, orphaned and taken back, the status and the conditions
// of the parent are written, Events are emitted once, finalizers delay deletions, and patches are applied and withdrawn. What
// decides that is the engine's: engine/ending, engine/apply/mark and engine/conditions. Left out are defaults and admission of the
// API server, field managers, the prune guard, pauses and controllers: a test sets what those would write.
//
// simulation.go has the objects and what changes them, reconcile.go the reconcile, ownership.go whose an object is, deletion.go
// what goes, patches.go what patches set, and ready.go what controllers write.
package simulation
