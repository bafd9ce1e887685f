// Package builtin has Kubernetes' own kinds, without a cluster: those that the API server of one version serves by
// default, with their scope, verbs and subresources. Programs that check rules offline use it instead of package
// restmapping.
//
//	table, err := builtin.Load()
//	if err != nil {
//		return err // the embedded file is broken: no input can cause that
//	}
//	kind, ok := table.Lookup(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
//	// kind.Namespaced, kind.HasStatus: true; table.Version(): "v1.36.3"
//
// go generate writes the table, kinds.txt, from the discovery of the tests' control plane. A test compares the two. A
// table can be extended by the kinds of CustomResourceDefinitions and of OpenAPI documents.
//
// Package kinds/openapi/builtin has the schemas of the kinds, from the same control plane.
package builtin
