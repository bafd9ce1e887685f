// Package simulation runs a rule for one parent in a cluster that exists in memory only, one change after the other: what takes
// several reconciles in a cluster takes several here.
//
//	s, err := simulation.New(simulation.Options{Program: program, Parent: webapp, Now: time.Now()})
//	state, err := s.Settle(ctx)        // state.Children["deployment"]: created, and not ready
//	err = s.SetReady("deployment")     // as its controller would
//	state, err = s.Settle(ctx)         // state.Parent has a condition Ready that is true
//
// Each evaluation is a preview, so it is the engine's own. What the API server and the engine do between evaluations is
// reproduced as far as it shows in the outcome: fields are removed when they are no longer rendered, children are pruned,
// recreated and orphaned, the status and the conditions of the parent are written, Events are emitted once, a parent with
// spec.finalize is kept until its cleanup is done, and patches are applied and withdrawn. Left out are defaults and admission of
// the API server, field managers, the prune guard, pauses and controllers: a test sets what those would write.
//
// simulation.go has the objects and what changes them, reconcile.go the reconcile, deletion.go what goes, patches.go what
// patches set, and ready.go what controllers write.
package simulation
