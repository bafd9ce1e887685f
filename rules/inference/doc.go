// Package inference completes the CustomResourceDefinition that comes from spec.parent.schema: each field that spec.status sets gets
// the type of what its expression gives, so that nobody writes the types of the status.
//
//	findings := inference.Infer(inference.Input{Schemas: known, Compile: compileStatus}, documents...)
//
// A type that cannot be inferred is a finding, unless it may become known with the schema of a kind that is awaited.
package inference
