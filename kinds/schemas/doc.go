// Package schemas loads the OpenAPI v3 schemas of kinds from the API server, on demand.
//
// The server publishes one document for each group and version, and an index (/openapi/v3) with the content hash of
// each. Only requested documents are loaded. They are kept in the compact form that server-side apply works with, not
// as text.
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
// # Schemas that just changed
//
// The server republishes the schema of a custom resource about a second after a change of its CRD, by a timer of the
// aggregator. So two things happen. For ten seconds after Forget, each use reads the index again (at most every half
// second), so that an old document is not taken for the new one. And for ten seconds after the first request for a kind
// that the documents do not have, the error is "not published yet", which is worth a retry; after that, it is
// ErrNoSchema.
package schemas
