// Package overlay lays the fields of a rendered object over a live one, as a server-side apply does, without a cluster:
//
//	overlay.Apply(kinds.Schema(gvk), live, before, rendered) // changes live
//
// Mappings are merged field by field, unless the schema says that they are one value, as a Service's selector. Items of a list are
// merged by the keys that the schema names, with the defaults that these have, and those of a set one by one, so that what others
// have added stays. Any other list, and every list of a kind without a schema, is replaced as a whole.
// What was rendered before and is no longer is removed.
//
// Before an object is written, the engine brings it into one form, such as with the protocol of each port. [Normalise] does so without the
// schemas of a cluster:
//
//	written := overlay.Normalise(kinds.Schema(gvk), rendered, hasStatus)
//
// It does not know who owns a field: what two managers have set is removed when one of them no longer sets it.
package overlay
