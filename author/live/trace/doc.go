// Package trace shows an object of a cluster, with everything that Kanon's rules make of it, as a tree: the objects
// that the rules read, create and patch, and what these own. Each node shows the state of its object and the reasons
// for it.
//
//	tracer := trace.New(trace.Options{Client: client, Metadata: metadata, Kinds: kinds, Rules: rules, Namespace: "kanon-system", Now: time.Now})
//	root, err := tracer.Trace(ctx, parent)
//	err = root.Write(os.Stdout, trace.Tree, trace.Style{Now: time.Now()})
//
//	WebApp/front            NotReady   3m   webapp
//	├── Deployment/front    NotReady   3m   webapp   deployment
//	│         InProgress: Available: 0/2
//	└── Service             Waiting    -    webapp   service
//	          dependsOn: waits for deployment to be ready
//
// [Tracer.Trace] reads the objects, [Node] is the tree, and [Node.Write] prints it. [Tracer.Follow] reads the tree again
// and again, and a [Screen] shows each that differs from the one before.
//
// The caller passes in the rules. rule.go decides what one of them makes of a parent, and parent.go the state of the
// parent; both are pure functions over what package livepreview has read. object.go derives an object's state from its
// status, and owned.go finds what it owns. The package writes nothing to the cluster and shows no contents of objects.
// It hides values of Secrets that a condition or an Event quotes.
package trace
