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
// Package builtin has the schemas of Kubernetes' own kinds.
package openapi
