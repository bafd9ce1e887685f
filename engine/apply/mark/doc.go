// Package mark proves whose child an object is.
//
// A child carries a mark: a label that selects it, and an annotation that names the parent and the node of the rule
// that it was created for. Others copy labels (EndpointSlices have those of their Service), so the annotation is
// sealed with a key of the installation over the child's own group, kind, namespace and name. A mark that was copied
// to another object or made up proves nothing.
//
//	marks := mark.NewMarks(store.Keyring)
//	fresh := marks.Add(object, owner, controller) // label, annotations and ownerReference
//	...
//	owner, ok := marks.OwnerOf(live) // false if nothing is proven
//	if ok && marks.Owns(live, ruleID, parent.GetUID()) { ... }
//
// The annotation also records hashes of the last write: a Fingerprint, read by Recorded.
//
// The package reads and writes the metadata of objects in memory. It knows no client, no schema and no managedFields.
//
// What each file does:
//
//	marks.go        proves whose child an object is; adds and removes marks
//	mark.go         the text of a mark, with the hashes of the last write, and what its seal covers
//	owner.go        the owner that a mark names, and whether the child is kept when it ends
//	identity.go     references to objects, ids of rules, labels and annotations
//	reference.go    the owner reference to the parent
package mark
