package examples_test

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

// baseline are the three objects of a tenant's namespace.
func baseline(namespace string) []*unstructured.Unstructured {
	objects := []*unstructured.Unstructured{
		kanontest.Ref("networking.k8s.io/v1", "NetworkPolicy", "same-namespace-only"),
		kanontest.Ref("v1", "ResourceQuota", "baseline"),
		kanontest.Ref("rbac.authorization.k8s.io/v1", "RoleBinding", "team-edit"),
	}
	for _, obj := range objects {
		obj.SetNamespace(namespace)
	}
	return objects
}

func exist(*unstructured.Unstructured) error { return nil }

func namespaceIsRelabelled(cluster *kanontest.Cluster) {
	namespace := controlplanetest.Namespace(cluster, controlplanetest.Config(cluster))
	ref := kanontest.Ref("v1", "Namespace", namespace)
	for _, obj := range baseline(namespace) {
		if cluster.IsThere(obj) {
			cluster.Errorf("a namespace without the label has a %s", obj.GetKind())
		}
	}

	cluster.Patch(ref, `{"metadata": {"labels": {"tier": "tenant"}}}`)
	for _, obj := range baseline(namespace) {
		cluster.Await(obj, exist)
	}

	cluster.Patch(ref, `{"metadata": {"labels": {"tier": null}}}`)
	for _, obj := range baseline(namespace) {
		cluster.AwaitGone(obj)
	}
}

// namespaceIsDeleted: putting children right must not keep a namespace from
// ending.
func namespaceIsDeleted(cluster *kanontest.Cluster) {
	namespace := controlplanetest.Namespace(cluster, controlplanetest.Config(cluster))
	ref := kanontest.Ref("v1", "Namespace", namespace)
	cluster.Patch(ref, `{"metadata": {"labels": {"tier": "tenant"}}}`)
	for _, obj := range baseline(namespace) {
		cluster.Await(obj, exist)
	}
	cluster.Delete(ref)
	cluster.AwaitGone(ref)
}
