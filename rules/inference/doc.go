// Package inference completes the CustomResourceDefinition that comes from spec.parent.schema: each field that spec.status sets gets
// the type of its expression, so that nobody writes the types of the status.
//
//	findings := inference.Infer(inference.Input{Schemas: known, Compile: compileStatus}, documents...)
//
// A type that cannot be inferred is a finding, unless it may become known with the schema of a kind that is awaited. inference.go repeats
// the inference until no new type is found, and status.go makes the schema of a compiled status.
package inference
