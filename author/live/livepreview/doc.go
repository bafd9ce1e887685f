// Package livepreview evaluates a rule for a parent with the objects of a cluster, and sends no write.
//
//	p := livepreview.New(livepreview.Options{Client: client, Kinds: kinds, Program: program, Namespace: "kanon-system"})
//	found, err := p.Preview(ctx, parent)
//	for _, node := range found.Nodes { // as in package preview
//		for _, object := range node.Objects {
//			live := found.Objects[identity.Of(object.Unstructured)] // nil if it does not exist
//		}
//	}
//	for _, pruned := range found.Pruned() { // the parent's children that the rule no longer renders
//		...
//	}
//
// The reconcile is the engine's own, in an API in memory on top of the cluster (package memory). It reads only what the
// engine asks for: the parent's children by the rule's label, lookups, objects with the
// names of rendered ones, and targets of patches. Each is read once for a parent, so that all are of about the same
// time. Kanon need not run. Marks are trusted without proof, because only Kanon has the keys that prove them.
package livepreview
