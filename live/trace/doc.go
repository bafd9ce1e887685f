// Package trace shows an object of a cluster with all that Kanon's rules make of it, as a tree: the objects that the rules read,
// create and patch, and what these own. Each node says how its object fares and why.
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
// [Tracer.Trace] reads, [Node] is the tree, and [Node.Write] prints it. [Tracer.Follow] does both again each time that a watch tells
// of a change, and [Changes] compares two trees.
//
// Which rules there are, it is given. What one of them makes of a parent is decided in rule.go, and how the parent fares in parent.go:
// both are pure functions over what package livepreview has read. object.go judges an object by its status, and owned.go finds what it
// owns. It writes nothing to the cluster, and shows no contents of objects. Values of Secrets
// that a condition or an Event quotes are hidden (secrets.go).
package trace
