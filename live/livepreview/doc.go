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
// It reads what one evaluation needs, as the rule asks for it: the objects with the rule's label that are the parent's, the objects
// that the rule looks up, those that have the names of what is rendered, and the targets of patches. Each is read once for a parent,
// so that all answers are of about one time. Kanon need not run. A mark is believed, because the keys that prove marks are Kanon's.
package livepreview
