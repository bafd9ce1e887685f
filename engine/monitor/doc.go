// Package monitor runs the informers for the objects that rules need: one informer for each (resource, namespace,
// label selector), shared by all owners that want it. It starts when the first owner asks for it and stops when the
// last one releases it.
//
// An owner, such as a rule, declares which keys it wants; the difference from before decides which informers start
// and stop:
//
//	monitors := monitor.New(monitor.Options{
//		Client:    client,
//		Handle:    func(e monitor.Event) { queue.Add(keyOf(e)) },
//		Synced:    func(k monitor.Key) { startWaitingFor(k) },
//		Failed:    func(k monitor.Key) { reportFailureOf(k) },
//		Requested: countRequest,
//		Tag:       func(k monitor.Key, obj *wire.Object) (string, bool) { return parentOf(obj), isOurs(obj) },
//		Indexers:  cache.Indexers{"parent": parentsOf},
//	})
//	// ...
//	group.Go(func() { monitors.Run(ctx) })
//
//	children := monitor.Key{GVR: deployments, Selector: "kanon.dev/rule=0123456789abcdef"}
//	monitors.Watch("rule kanon-system/webapp", parents, children)
//
//	// Later, in a worker: all children of one parent, from memory.
//	for _, child := range monitors.View(children).ByIndex("parent", "team-a/shop") {
//		// read-only
//	}
//
//	// The answer of a write counts at once, before its watch event arrives.
//	live, err := dynamicClient.Resource(deployments).Namespace(ns).Create(ctx, obj, options)
//	monitors.Observe(children, live)
//
//	monitors.Watch("rule kanon-system/webapp") // releases both
//
// # What readers see
//
// Get and a View answer from memory: from the informer's store, overlaid with what was passed to Observe as long as
// the store is older. The API server's resource versions decide which of two states is newer, so an older state never
// hides a newer one. Objects are shared and must not be changed.
//
// For a Key with Heads nobody reads the content of the objects. Of large objects only the metadata is kept. Such keys
// are read by Known, Heads and UnreadByIndex.
//
// A label selects, but proves nothing. Options.Tag decides which of the selected objects are what they claim to be.
// The others are not in view: they cause no events, and only their identity is kept in memory.
//
// # Lifetimes
//
// Run owns every goroutine. A key that is released and wanted again gets a new informer, whose view starts empty;
// HasSynced reports whether it has filled. If the API server does not serve a resource, the informer retries with
// client-go's backoff (up to a minute) and logs once; call Restart when the resource is back.
//
// # Files
//
//	monitors.go  the informers, who wants them, and their options
//	monitor.go   one informer: what it keeps of an object, and which events it sends
//	health.go    whether its watch works
//	overlay.go   the answers to our own writes, until the watch has caught up
//	merge.go     lists store and overlay together
//	read.go      the functions for readers
//	stats.go     figures for metrics
package monitor
