// Package patchwriter writes what patches set in objects that are not Kanon's, and restores what was there before.
//
//	w := patchwriter.New(server.New(dynamicClient, schemas, hasStatus), reserved.Objects{})
//	part, err := w.Part(ctx, fields) // what one parent sets; package patchset puts the parts of all together
//	...
//	live, written, err := w.Sync(ctx, patchwriter.Patch{GVR: gvr, Object: target, Manager: manager, Content: part})
//
// Each patch has a field manager of its own, and is in place while its entry in managedFields holds what it sets (known.go). Before
// a field is taken from another manager, its value is recorded in the object (previous.go); a manager that the patch refuses keeps the
// field (conflict.go). Once the patch no longer sets the field, the value is restored, and owned by that manager again (restore.go).
// sharedlist.go is about lists that are joined item by item, the imagePullSecrets of a ServiceAccount.
package patchwriter
