package livediff

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/author/live"
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

// Select reads the objects of the parents' kind that match a label selector, in a namespace, or in all if namespace is
// empty. If there are none, it returns an error.
func (d *Differ) Select(ctx context.Context, namespace, selector string) ([]*unstructured.Unstructured, error) {
	resource, err := d.parents()
	if err != nil {
		return nil, err
	}
	kind := d.options.Program.Parent.GVK.Kind
	list, err := resource.Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	if len(list.Items) == 0 {
		return nil, errors.New(live.NoneFound(kind, selector))
	}
	parents := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		parents[i] = &list.Items[i]
	}
	return parents, nil
}

// Named reads a parent by its name.
func (d *Differ) Named(ctx context.Context, namespace, name string) ([]*unstructured.Unstructured, error) {
	resource, err := d.parents()
	if err != nil {
		return nil, err
	}
	parent, err := resource.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		advice := "name another one, or a file"
		if namespace != "" {
			advice = "choose another namespace with -n, or name a file"
		}
		return nil, errors.New(live.Absent(ctx, d.options.Client, resource.Namespace(namespace), d.options.Program.Parent.GVK.Kind, namespace, name, advice))
	}
	return []*unstructured.Unstructured{parent}, err
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
