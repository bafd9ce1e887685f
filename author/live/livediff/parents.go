package livediff

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/rules/syntax"
)

// parents is the client for the kind of the rule's parents.
func (d *Differ) parents() (dynamic.NamespaceableResourceInterface, error) {
	gvk := d.options.Program.Parent.GVK
	gvr, ok := d.options.Kinds.Resource(gvk)
	if !ok {
		return nil, live.NoKind(gvk)
	}
	return d.options.Client.Resource(gvr), nil
}

// Written returns the parents among the objects of a file, as they would be in the cluster; see AsWritten. A parent
// without a namespace gets the given one.
func (d *Differ) Written(ctx context.Context, namespace string, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	resource, err := d.parents()
	if err != nil {
		return nil, err
	}
	spec := d.options.Program.Parent
	var parents []*unstructured.Unstructured
	for _, object := range objects {
		if object.GroupVersionKind() != spec.GVK {
			continue
		}
		if spec.Namespaced && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		parent, err := AsWritten(ctx, resource.Namespace(object.GetNamespace()), object)
		if err != nil {
			return nil, err
		}
		parents = append(parents, parent)
	}
	return parents, nil
}

// AsWritten returns a parent as it would be in the cluster once it is applied: merged into the existing object, with
// defaults, by a server-side dry run.
func AsWritten(ctx context.Context, client dynamic.ResourceInterface, written *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var parent *unstructured.Unstructured
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		parent, err = asWritten(ctx, client, written)
		return err
	})
	if err == nil {
		return parent, nil
	}
	err = apply.OfObject("dry run of", written, err)
	if syntax.IsSecret(written.GroupVersionKind()) {
		err = conditions.Redact(err)
	}
	return nil, err
}

func asWritten(ctx context.Context, client dynamic.ResourceInterface, written *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	existing, err := client.Get(ctx, written.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return client.Create(ctx, written, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	case err != nil:
		return nil, err
	}
	memory.Merge(existing.Object, written.Object)
	return client.Update(ctx, existing, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
}
