// Package openapi has the schemas of kinds in the form that rules are checked against: fields, their types, and which
// are required. Schemas are shared and immutable.
//
// Schemas come from the OpenAPI v3 documents of an API server, or from
// CustomResourceDefinitions:
//
//	var pool openapi.Pool // shares what the two have in common
//	native, err := pool.FromDocument(data)  // kubectl get --raw /openapi/v3/apis/apps/v1
//	custom, err := pool.FromCRD(definition)
//	replicas := native.Schema(deployment).Fields["spec"].Schema.Fields["replicas"]
//
// The package unifies what Kubernetes writes in several ways. An object with properties has Fields; one without has
// none unless it is Open. A reference, alone or as the only item of allOf, is replaced by its schema. int-or-string and
// quantities are IntOrString. Whole objects have apiVersion, kind and metadata, whatever their source says.
//
// Builtin has the schemas of Kubernetes' own kinds, without a cluster. go generate writes its file, schemas.json.gz, from
// the documents of the tests' control plane, without descriptions (descriptions.json.gz). A test compares the two.
//
// Published loads schemas from the API server, on demand. The server publishes one document for each group and version,
// and an index (/openapi/v3) with the content hash of each. The server republishes the schema of a custom resource about
// a second after a change of its CRD. So for ten seconds after Forget, each use reads the index again (at most every half
// second). For ten seconds after the first request for a kind that the documents do not have, the error is
// ErrNotPublished, which is worth a retry; after that, it is ErrNoSchema.
package openapi
