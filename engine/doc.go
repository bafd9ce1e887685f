// Package engine is the reconciler: it runs rules against a cluster.
//
// The life of one change: an informer of package monitor sees an object change; [Engine.handle] turns the event into keys, each
// one rule and one parent, or one target of a patch; a worker takes a key, has package reconcile or package patching bring up to
// date what it stands for, and gives it back to the queue by the outcome: the key is done, waits for an event, or is due again
// after a while.
//
// The engine is level-driven: nothing depends on which event enqueued a key, and a key may be enqueued for no reason at any time
// at no cost but an evaluation. A restart loses what only saves work, and one thing more: when a rule that renders now did so
// last, so that it does at once.
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
//
//	engine.go, options.go   what an engine is made of; Run
//	handle.go               an event of an informer: which keys it enqueues, and which events need no reconcile
//	worker.go               a key: for whom it is reconciled, and what follows from the outcome (done, retry, later)
//	catalogloop.go          takes in changed texts and kinds, and has reports on rules written
//	startstop.go            starts and stops rules: operators and their informers
//	rulework.go             work about a rule that is about none of its parents, such as whether it may read them all
//	removal.go              when a removed rule, or its former kind of parents, is forgotten
//	records.go              what must be in the record of a rule before it writes
//	guards.go               the prune guard of each rule, and who confirms a deletion
//	hiddenparents.go        parents with a finalizer that no informer shows, because the selector no longer matches
//	forget.go               what is forgotten with a rule that stopped
//	objectcounts.go         how many parents and children a rule has, as its report has it
//	standby.go              an engine that does not lead yet: informers fill, and nothing is written
//	health.go, stats.go     readiness, and figures for metrics
package engine
