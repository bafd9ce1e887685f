// Package patchset merges what patches set in an object that is not ours, and records previous values.
//
// Each parent contributes a Part. The parts of one patch for one object are merged by the list keys of the kind's
// schema and applied by one field manager. A part that contradicts an older one is left out as a whole:
//
//	part, err := patchset.NewPart(kind, object)
//	merged, err := patchset.Merge(before, parts) // before: the result of an earlier merge, or nil
//	for _, c := range merged.Contradictions { ... }
//	if !patchset.IsPatchInPlace(live, patchset.Manager(ruleID, "limits"), merged.Part) { ... }
//
// Before a patch takes a field with another value, that value is recorded in the annotation kanon.dev/taken as a
// Previous. It is restored when the last patch relinquishes the field.
//
// One list is shared item by item although the API server treats it as one value: the imagePullSecrets of a
// ServiceAccount (sharedlist.go).
//
// The package has no client: package patchwriter writes.
//
// What each file does:
//
//	part.go        what one parent sets
//	merge.go       the parts of all parents in one, and which contradict one another
//	manager.go     field managers of patches
//	previous.go    the values that a patch replaced
//	sharedlist.go  the list that is shared item by item
package patchset
