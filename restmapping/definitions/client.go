package definitions

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

type managedFields = metav1.ManagedFieldsEntry

// page is the number of objects in one request.
const page = 500

// Client reads from a cluster. It implements Cluster.
type Client struct {
	dynamic.Interface
	// Timeout limits each request; 0 means no limit.
	Timeout time.Duration
}

// GVR is the resource of definitions.
func GVR() schema.GroupVersionResource {
	return apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
}

func (c Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.Timeout)
}

// Definition implements Cluster.
func (c Client) Definition(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	return c.Resource(GVR()).Get(ctx, name, metav1.GetOptions{})
}

// Objects implements Cluster. A kind that the API server does not serve has no readable objects.
func (c Client) Objects(ctx context.Context, of *Comparison, f func(*unstructured.Unstructured) error) error {
	for token := ""; ; {
		list, err := c.list(ctx, of.Objects, token)
		if apierrors.IsNotFound(err) && !of.IsServed() {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := f(&list.Items[i]); err != nil {
				return err
			}
		}
		if token = list.GetContinue(); token == "" {
			return nil
		}
	}
}

func (c Client) list(ctx context.Context, gvr schema.GroupVersionResource, token string) (*unstructured.UnstructuredList, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	return c.Resource(gvr).List(ctx, metav1.ListOptions{Limit: page, Continue: token})
}
