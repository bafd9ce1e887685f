// Package mark proves whose an object is.
//
// A child carries a mark: a label that selects it, and an annotation that says for which parent, and by which node of
// which rule, it was made. Labels are copied by others (EndpointSlices have those of their Service), so the annotation is
// sealed with a key of the installation over the child's own group, kind, namespace and name. A mark that was copied to
// another object, or made up, proves nothing.
//
//	marks := mark.NewMarks(store.Keyring)
//	text := marks.Add(object, owner, controller) // label, annotations and ownerReference
//	...
//	owner, ok := marks.OwnerOf(live) // false where nothing is proven
//	if ok && marks.Owns(live, ruleID, parent.GetUID()) { ... }
//
// The annotation also records what was written last, as hashes: a Fingerprint, read by Recorded. Earlier versions wrote
// marks without a seal (former.go); they prove something only beside an ownerReference.
//
// The package reads and writes metadata of objects in memory. It knows no client, no schema and no managedFields.
package mark
