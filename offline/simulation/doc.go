// Package simulation runs a rule for one parent in an in-memory cluster, one change at a time. What takes several
// reconciles in a cluster takes several here.
//
//	s, err := simulation.New(simulation.Options{Program: program, Parent: webapp, Now: time.Now()})
//	state, err := s.Settle(ctx)        // state.Children["deployment"]: created, and not ready
//	err = s.SetReady("deployment")     // as its controller would
//	state, err = s.Settle(ctx)         // state.Parent has a condition Ready that is true
//
// Each evaluation is a preview, so the engine's own. Between evaluations, the simulation reproduces what the API server
// and the engine do, as far as it affects the outcome:
//
//   - Children have owner references, marks and a resourceVersion. They are pruned, recreated, orphaned and taken back.
//   - Fields that are no longer rendered are removed.
//   - The parent's status and conditions are written, and each Event is emitted once.
//   - Finalizers delay deletions.
//   - Patches are applied and withdrawn.
//
// The engine's own packages decide these: engine/ending, engine/apply/mark and engine/conditions. The simulation has no
// field managers, prune guard, pauses or controllers, and defaults and validates only with the functions in [Options].
// A test sets what the others would write.
//
// simulation.go has the objects and what changes them, reconcile.go the reconcile, ownership.go marks and finalizers,
// deletion.go deletions, patches.go patches, and ready.go the status that controllers write.
package simulation
