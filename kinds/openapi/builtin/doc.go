// Package builtin has the schemas of the kinds that Kubernetes itself brings along,
// without a cluster. What checks rules on a desk takes them in place of those that
// an API server publishes.
//
//	kinds, err := builtin.Kinds()
//	if err != nil {
//		return err // the embedded file is broken: no input can cause that
//	}
//	deployment := kinds.Schema(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
//	// deployment.Fields["spec"].Schema.Fields["replicas"].Schema.Type: openapi.Integer
//
// The file is schemas.json.gz, which go generate writes from what the control plane
// that the tests run against publishes, without descriptions; a test holds that the
// two are the same. It has 71 kinds in 20 KB, which is what it adds to the program
// (6.4 MB as published). Reading it takes 15 to 30 ms, once, and 0.5 MB of memory.
//
// What the control plane makes of the least object of each kind says which fields are always
// set; go generate writes them into always.txt of package openapi, because the same holds for
// the schemas of these kinds that a cluster publishes.
package builtin
