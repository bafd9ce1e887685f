// Package monitor keeps informers for the objects that rules need: one for each
// (resource, namespace, label selector), shared by the owners that want it,
// started when the first one asks and stopped when the last one lets go.
//
// An owner, such as a rule, says again and again which keys it wants, and the
// difference is what starts and stops:
//
//	monitors, err := monitor.New(monitor.Options{
//		Client:   dynamicClient,
//		Handle:   func(e monitor.Event) { queue.Add(keyOf(e)) },
//		Synced:   func(k monitor.Key) { startWaitingFor(k) },
//		Indexers: cache.Indexers{"parent": parentsOf},
//	})
//	// ...
//	go func() { done <- monitors.Run(ctx) }()
//
//	children := monitor.Key{GVR: deployments, Selector: "kanon.dev/rule=0123456789abcdef"}
//	monitors.Watch("rule kanon-system/webapp", parents, children)
//
//	// Later, in a worker: all children of one parent, from memory.
//	for _, child := range monitors.View(children).ByIndex("parent", "team-a/shop") {
//		// read-only
//	}
//
//	// A write's answer is known at once, before its watch event arrives.
//	live, err := client.Resource(deployments).Namespace(ns).Create(ctx, obj, options)
//	monitors.Observe(children, live)
//
//	monitors.Watch("rule kanon-system/webapp") // releases both
//
// # What readers see
//
// Get and a View answer from memory. They show the informer's store, and over it
// what Observe was told, for as long as the store is older than that. The API server's resource versions decide which of two states
// is newer, so a state is never hidden by an older one. Objects are shared and
// must not be changed.
//
// Of objects whose content nobody asks for, a Key with Heads keeps no more than the
// metadata where they are large. They are read by Known, Heads and UnreadByIndex.
//
// A label selects, and proves nothing. Options.Tag tells which of the selected objects
// are what they seem. The others are not in view: no event tells of them, and nothing of
// them is kept in memory but their identity.
//
// # Lifetimes
//
// Run owns every goroutine. A key that is released and wanted again gets a new
// informer, whose view starts empty; HasSynced tells when it is full. A resource
// that the API server does not have is tried again with client-go's back-off (up
// to a minute) and logged once; whoever knows that it came back calls Restart.
//
// # Files
//
// monitors.go has who wants which informer, and difference.go what starts and stops because of that. monitor.go is one informer: what it
// keeps of an object, and which events it gives. overlay.go keeps the answers of own writes until the watch has caught up, merge.go
// lists both together, and read.go is how others read.
package monitor
