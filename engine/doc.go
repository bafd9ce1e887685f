// Package engine is the reconciler: it runs rules against a cluster.
//
// The life of one change: an informer of package monitor sees an object
// change; [Engine.handle] turns the event into keys, each one rule and one
// parent; a worker takes a key, evaluates the rule for that parent from cache
// alone, writes the children and the status that differ, prunes what the rule
// no longer renders, and returns one verdict, which says whether the key is
// done, waits for an event, or comes back after a while.
//
// The engine is level-driven: nothing depends on which event woke a key, and
// a key may be woken for no reason at any time at no cost but an evaluation.
// A restart loses what only saves work, and two things more: which kinds a rule
// used to have children of and does not mention any more, so that these are
// pruned only by the process that saw the change; and when a rule that renders
// now did so last, so that it does at once.
//
//	e, err := engine.New(engine.Options{
//		Client:   client,
//		Mapper:   mapper,
//		Schemas:  schemas,
//		Recorder: recorder,
//		Sources:  []engine.Source{files},
//	})
//	if err != nil {
//		return err
//	}
//	return e.Run(ctx)
//
// Rules reach the engine as texts from sources. Package catalog decides which
// revision of each rule runs. The catalog loop makes an operator of each, and
// publishes them as an immutable set, which handlers and workers read without
// a lock.
package engine
