// Package openapi holds the schemas of kinds in the form that rules are checked
// against: fields, their types, and what must be there. A schema is shared by all
// that refer to it and is never changed.
//
// Schemas come from the OpenAPI v3 documents of an API server, or from
// CustomResourceDefinitions:
//
//	var pool openapi.Pool // shares what the two have in common
//	native, err := pool.FromDocument(data)  // kubectl get --raw /openapi/v3/apis/apps/v1
//	custom, err := pool.FromCRD(definition)
//	replicas := native.Schema(deployment).Fields["spec"].Schema.Fields["replicas"]
//
// What Kubernetes writes in several ways is one thing here: an object with
// properties has Fields, and one without has none unless it is Open; a reference,
// also as the only item of allOf, is the schema that it refers to; int-or-string
// and quantities are IntOrString. Whole objects have apiVersion, kind and metadata
// whatever their source says of these.
//
// Package builtin has the schemas of the kinds of Kubernetes itself.
package openapi
