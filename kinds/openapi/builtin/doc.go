// Package builtin has the schemas of Kubernetes' own kinds, without a cluster. Programs that check rules offline use
// them instead of the schemas that an API server publishes.
//
//	kinds, err := builtin.Kinds()
//	if err != nil {
//		return err // the embedded file is broken: no input can cause that
//	}
//	deployment := kinds.Schema(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
//	// deployment.Fields["spec"].Schema.Fields["replicas"].Schema.Type: openapi.Integer
//
// go generate writes the file, schemas.json.gz, from the documents of the tests' control plane, without descriptions. A
// test compares the two. The file has 71 kinds in 20 KB, which is what it adds to the program (6.4 MB as published).
// Decoding it takes 15 to 30 ms, once, and 0.5 MB of memory.
//
// The fields that are always set are those that the control plane adds to a minimal object of each kind. go generate
// writes them to always.txt of package openapi, because they also hold for the schemas of these kinds that a cluster
// publishes.
package builtin
