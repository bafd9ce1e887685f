// Package engine runs rules against a cluster: it is the reconciler.
//
// The life of one change: an informer of package watch sees an object change. [Engine.handle] turns the event into
// keys: each is one rule and one parent, or one target of a patch. A worker takes a key and has package reconcile or
// package patching bring its object up to date. The outcome decides what happens to the key: it is done, waits for an
// event, or is requeued after a while.
//
// The engine is level-driven: nothing depends on which event enqueued a key, and a needless reconcile costs only an
// evaluation. A restart loses what package conditions remembers. Usually that costs an evaluation or a second Event; its
// documentation names the exceptions. A rule that renders now renders again at once.
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
// Rules reach the engine as texts from sources. Package catalog decides which revision of each rule runs. The catalog
// loop makes an operator of each, and publishes them as an immutable set that handlers and workers read without a lock.
//
//	engine.go, options.go   the parts of an engine; Run
//	events.go               which keys an event affects, when it needs no reconcile, and what it enqueues
//	workers.go              takes keys from the queue; workers stand in for others whose requests hang
//	worker.go               a key: as whom it is reconciled, and what follows (done, retry, later)
//	catalogloop.go          processes changed texts and kinds, and has reports on rules written
//	publish.go              makes an operator of each rule that runs, and publishes the set
//	start.go                starts the informers of new operators, and logs why; what is forgotten when a rule stops
//	enqueue.go              which parents an operator may have work for when it starts
//	ruleproblems.go         why a rule does not run as written, for its report
//	rulework.go             work for a rule rather than a parent: may it read all parents, and which of them have its
//	                        finalizer and are not shown by an informer, because the selector no longer matches
//	removal.go              when a removed rule, or its former kind of parents, is forgotten
//	removalwaits.go         reports a removal that cannot proceed
//	records.go              what a rule's record must contain before the rule writes, and what follows when records
//	                        or the keys that seal marks have changed
//	guards.go               the prune guard of each rule, and who confirms a deletion
//	objectcounts.go         how many parents and children a rule has, for its report
//	standby.go              an engine that does not lead yet: informers sync, and nothing is written. If the lead is lost,
//	                        package manager stops the writes, and the process ends
//	stats.go                readiness, and figures for metrics
//
// What an engine is made of, each a package that does not know the engine:
//
//	source, catalog                                texts of rules become rules that run, and are reported on
//	operator, record, guard                        a rule on this cluster, and what may be deleted
//	watch, queue                                   what changes, who reads it, who is next
//	reconcile, patching                            what is done for a parent, and what its status says
//	apply                                          writes, and proves what Kanon wrote; keyring has the keys
//	conditions, feedback                           what users read and request, what is remembered of a parent; loops
//	tenant                                         rules that act as a ServiceAccount
//	identity, telemetry                            small parts, figures and traces
package engine
