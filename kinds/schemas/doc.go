// Package schemas loads the OpenAPI v3 schemas of kinds from the API server, on demand.
//
// The server publishes one document for each group and version, and an index (/openapi/v3) with the content hash of each.
// Only documents that somebody asks for are loaded. What is kept of one is the compact form that server-side apply itself
// works with; the document is dropped.
//
// # Example
//
//	s := schemas.New(openapi.NewClientWithContext(discoveryClient.RESTClient()))
//	converter, err := s.Converter(ctx, gvk)
//	switch {
//	case errors.Is(err, schemas.ErrNoSchema): // the server has none: deduce
//	case err != nil: // could not be loaded, or is not published yet: try again later
//	}
//	shape, err := s.Conditions(ctx, parentGVK)
//	kind, err := s.Kind(ctx, gvk) // what rules are checked against
//	...
//	s.Forget(gvk.GroupVersion()) // its CRD changed
//
// # When a schema is new
//
// The server republishes the schema of a custom resource a little after its CRD changed: about a second, by the
// aggregator's own timer. Two things follow. After Forget, the index is asked again on each use (at most every
// half second) for ten seconds, so that an old document is not taken for the new one. And a kind that the documents do
// not have yet is reported as "not published yet", an error worth another try, for ten seconds from the first time it was
// asked for, before ErrNoSchema says that there is none.
package schemas
