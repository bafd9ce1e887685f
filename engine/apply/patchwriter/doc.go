// Package patchwriter writes what patches set in objects that are not Kanon's, and restores previous values.
//
//	w := patchwriter.New(server.New(dynamicClient, schemas, hasStatus), reserved.Objects{})
//	part, err := w.Part(ctx, fields) // what one parent sets; package patchset merges the parts of all
//	...
//	live, written, err := w.Sync(ctx, patchwriter.Patch{GVR: gvr, Object: target, Manager: manager, Content: part})
//
// Each patch has a field manager of its own, and is in place while its entry in managedFields has what it sets. Before it
// takes a field from another manager, the value is recorded in the object. A manager that the patch must not take from
// keeps the field. Once the patch no longer sets the field, the value is restored and belongs to that manager again.
//
// What each file does:
//
//	writer.go      applies a patch to its target
//	known.go       whether a target is as it was written
//	conflict.go    managers that a patch must not take fields from
//	previous.go    records the values that a patch replaces
//	restore.go     restores these values
//	sharedlist.go  the list that is shared item by item: the imagePullSecrets of a ServiceAccount
package patchwriter
