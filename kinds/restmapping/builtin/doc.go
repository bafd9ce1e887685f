// Package builtin knows the kinds that Kubernetes itself brings along, without a
// cluster: those that the API server of one version serves by default, with their
// scope, verbs and subresources. What checks rules on a desk asks it in place of
// package restmapping.
//
//	table, err := builtin.Load()
//	if err != nil {
//		return err // the embedded file is broken: no input can cause that
//	}
//	kind, ok := table.Lookup(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
//	// kind.Namespaced, kind.HasStatus: true; table.Version(): "v1.36.3"
//
// The table is kinds.txt, which go generate writes from the discovery of the
// control plane that the tests run against; a test holds that the two are equal. A
// table can be extended by the kinds that CustomResourceDefinitions define, or that
// an OpenAPI document tells of.
//
// The schemas of the kinds are in package kinds/openapi/builtin, taken from the same
// control plane.
package builtin
