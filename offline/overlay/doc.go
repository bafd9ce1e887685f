// Package overlay lays the fields of a rendered object over a live one without a cluster, as a server-side apply does:
//
//	overlay.Apply(kinds.Schema(gvk), live, before, rendered) // changes live
//
// Mappings are merged field by field, unless the schema declares them atomic, like a Service's selector. Lists are
// merged by the keys in the schema (with their defaults), and sets by value, so what others added stays. Other lists,
// and all lists of a kind without a schema, are replaced. Fields and items that were rendered before and no longer are,
// are removed.
//
// The engine normalises an object before it writes it; for example, it sets the protocol of each port. [Normalise] does
// so without the schemas of a cluster:
//
//	written := overlay.Normalise(kinds.Schema(gvk), rendered, hasStatus)
//
// The package does not track owners of fields: a field that two managers set is removed when one of them no longer sets
// it.
package overlay
