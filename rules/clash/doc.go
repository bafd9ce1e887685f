// Package clash finds conflicts between rules that run at the same time, as far as their texts show: schemas for the same kind, the
// same conditions on the same parents, and children that are the same object.
//
//	for i, clashes := range clash.Find(all) { … clashes[0].Finding(all[i]) … }
//
// Rules whose selectors or namespaces exclude each other have no conflict.
package clash
