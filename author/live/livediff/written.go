package livediff

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/rules/syntax"
)

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
