// Package wire decodes objects lazily. An [Object] has its identity decoded; the rest stays JSON. Three methods decode
// more:
//
//   - Head decodes apiVersion, kind and metadata. Its callers share the result.
//   - Shared decodes the whole object. Its callers share the result.
//   - Tree decodes a copy for the caller.
//
// The paths in managedFields are half of the text. All objects of one template have the same paths, except for their
// owner's UID, so these paths are kept in memory once. A [Packer] compresses an object that is kept for long, by what it
// has in common with another object of the same template.
//
//	object, err := wire.Decode(body)
//	object.Name()                   // costs nothing
//	object.Head().GetAnnotations()  // decodes the metadata
//	object.Tree().Object["status"]  // decodes everything
//
// NewClient makes a dynamic client that decodes answers and events with this package; NewForConfig does the same with a
// connection of its own. In an object from this package, an entry of managedFields has its fieldsV1 as text and not as a
// tree: engine/apply takes both forms.
//
// What each file does:
//
//	object.go    an object: finds its identity in the JSON, and decodes the rest on demand
//	parse.go     makes trees of JSON; scan.go skips what nobody wants
//	cut.go       drops the content of an object, or all but its identity
//	pack.go      compresses objects of one template
//	paths.go     shares the paths of managedFields
//	memory.go    how much memory an object takes
//	codec.go     brings the package into client-go
//	resource.go  requests: get, list, watch
//	frames.go    splits a watch into events
//	encode.go    writes JSON
//	accessor.go  the metadata, for client-go
package wire
