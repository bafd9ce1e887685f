// Package openapi holds the schemas of kinds in the form that rules are checked
// against: fields, their types, and what must be there. Schemas come from the
// OpenAPI v3 documents of an API server or from CustomResourceDefinitions. A
// schema is shared by all that refer to it and is never changed.
package openapi
