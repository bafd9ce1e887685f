// Package watch runs the informers for the objects that rules need: one informer for each (resource, namespace,
// label selector), shared by all owners that want it. It starts when the first owner asks for it and stops when the
// last one releases it.
//
// An owner, such as a rule, declares which keys it wants; the difference from before decides which informers start
// and stop:
//
//	monitors := watch.New(watch.Options{
//		Client:    client,
//		Handle:    func(e watch.Event) { queue.Add(keyOf(e)) },
//		Synced:    func(k watch.Key) { startWaitingFor(k) },
//		Failed:    func(k watch.Key) { reportFailureOf(k) },
//		Requested: countRequest,
//		Tag:       func(k watch.Key, obj *watch.Object) (string, bool) { return parentOf(obj), isOurs(obj) },
//		Indexers:  cache.Indexers{"parent": parentsOf},
//	})
//	// ...
//	group.Go(func() { monitors.Run(ctx) })
//
//	children := watch.Key{GVR: deployments, Selector: "kanon.dev/rule=0123456789abcdef"}
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
// A label selects, but proves nothing. Options.Tag decides which of the selected objects are what they claim to be.
// The others are not in view: they cause no events, and only their identity is kept in memory.
//
// # Lifetimes
//
// Run owns every goroutine. A key that is released and wanted again gets a new informer, whose view starts empty;
// HasSynced reports whether it has filled. If the API server does not serve a resource, the informer retries with
// client-go's backoff (up to a minute) and logs once; call Restart when the resource is back.
//
// # Objects
//
// An Object has its identity decoded; the rest stays JSON. Head decodes apiVersion, kind and metadata, Shared the whole
// object, and Tree a copy for the caller. Half of the text are the paths in managedFields. All objects of one template
// have the same paths, except for their owner's UID, so these paths are kept in memory once. A Packer compresses an
// object by what it has in common with another one of the same template.
//
// NewClient makes a dynamic client that decodes answers and events this way. In an object from it, an entry of
// managedFields has its fieldsV1 as text and not as a tree: engine/apply takes both forms.
//
// # Files
//
//	monitors.go  the informers, who wants them, and their options
//	monitor.go   one informer: what it keeps of an object, and which events it sends
//	health.go    whether its watch works
//	overlay.go   the answers to our own writes, until the watch has caught up
//	read.go      the functions for those who read objects
//	readers.go   which keys read which objects, and the informers that only a parent turns out to need
//	stats.go     figures for metrics
//	object.go    an object: finds its identity in the JSON, and decodes the rest on demand
//	parse.go     makes trees of JSON; scan.go skips what nobody wants
//	pack.go      compresses objects of one template; paths.go shares the paths of managedFields
//	codec.go     brings the decoding into client-go
//	resource.go  requests: get, list, watch; frames.go splits a watch into events
//	encode.go    writes JSON
package watch
