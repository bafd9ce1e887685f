package livediff

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/overlay"
)

// AsWritten is a parent as it would be in the cluster once it is applied: laid over the one that exists, with defaults, by a
// server-side dry run.
func AsWritten(ctx context.Context, client dynamic.ResourceInterface, written *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	existing, err := client.Get(ctx, written.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get %s: %w", identity.Of(written), err)
	}
	var parent *unstructured.Unstructured
	if err != nil {
		parent, err = client.Create(ctx, written, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	} else {
		overlay.Apply(nil, existing.Object, nil, written.Object)
		parent, err = client.Update(ctx, existing, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	if err != nil {
		return nil, fmt.Errorf("dry run of %s: %w", identity.Of(written), err)
	}
	return parent, nil
}
