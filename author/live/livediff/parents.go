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

// Written returns the parents among the objects of a file, as they would be in the cluster once they are applied, by
// server-side dry runs: merged into the existing object, with defaults. A parent without a namespace gets the given one.
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
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			parent, err := written(ctx, resource.Namespace(object.GetNamespace()), object)
			if err == nil {
				parents = append(parents, parent)
			}
			return err
		})
		if err != nil {
			return nil, d.redacted(apply.OfObject("dry run of", object, err))
		}
	}
	return parents, nil
}

// written returns an object as it is after a dry run that applies it.
func written(ctx context.Context, client dynamic.ResourceInterface, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	existing, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return client.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	case err != nil:
		return nil, err
	}
	memory.Merge(existing.Object, object.Object)
	return client.Update(ctx, existing, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
}
