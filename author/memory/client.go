package memory

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/watch"
)

// Resource implements dynamic.Interface.
func (a *API) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return resource{api: a, gvr: gvr}
}

// Objects implements watch.Lister.
func (c client) Objects(gvr schema.GroupVersionResource, namespace string) watch.Resource {
	return watch.ListedBy(func(o metav1.ListOptions) []*unstructured.Unstructured {
		selector, err := labels.Parse(o.LabelSelector)
		if err != nil {
			return nil
		}
		return c.Select(gvr, namespace, selector)
	})
}

// client is an API as the engine's client.
type client struct{ *API }

// resource is a resource in one namespace, or in all. It has the requests that the engine sends.
type resource struct {
	dynamic.ResourceInterface
	api       *API
	gvr       schema.GroupVersionResource
	namespace string
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (r resource) Namespace(name string) dynamic.ResourceInterface {
	r.namespace = name
	return r
}

// request returns a request for the resource.
func (r resource) request(manager string, dryRun, subresources []string) (request, error) {
	kind, err := r.api.kinds.kind(r.gvr)
	made := request{kind: kind, manager: manager, dryRun: len(dryRun) > 0}
	if len(subresources) > 0 && kind.HasStatus {
		made.subresource = subresources[0]
	}
	return made, err
}

func (r resource) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions, _ ...string) (*unstructured.Unstructured, error) {
	made, err := r.request(o.FieldManager, o.DryRun, nil)
	if err != nil {
		return nil, err
	}
	return r.api.create(ctx, made, obj)
}

func (r resource) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, sub ...string) (*unstructured.Unstructured, error) {
	made, err := r.request(o.FieldManager, o.DryRun, sub)
	if err != nil {
		return nil, err
	}
	return r.api.update(ctx, made, obj)
}

func (r resource) Delete(_ context.Context, name string, o metav1.DeleteOptions, _ ...string) error {
	made, err := r.request("kanon", o.DryRun, nil)
	if err != nil {
		return err
	}
	return r.api.delete(made, types.NamespacedName{Namespace: r.namespace, Name: name}, o)
}

func (r resource) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	kind, err := r.api.kinds.kind(r.gvr)
	if err != nil {
		return nil, err
	}
	return r.api.get(kind, r.namespace, name)
}

func (r resource) List(_ context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	for _, object := range r.api.Select(r.gvr, r.namespace, selector) {
		list.Items = append(list.Items, *r.api.Served(object, r.gvr))
	}
	return list, nil
}

func (r resource) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	made, err := r.request(o.FieldManager, o.DryRun, sub)
	if err != nil {
		return nil, err
	}
	made.force = o.Force != nil && *o.Force
	return r.api.patch(ctx, made, types.NamespacedName{Namespace: r.namespace, Name: name}, pt, data)
}
