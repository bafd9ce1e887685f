package apply

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/watch"
)

// Resource returns the client for a resource in a namespace.
func (a *API) Resource(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	return a.client.Resource(gvr).Namespace(namespace)
}

// Strict returns the options of a patch that refuses unknown fields. With force, an apply takes fields from other
// managers.
func Strict(manager string, force bool) metav1.PatchOptions {
	options := metav1.PatchOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict}
	if force {
		options.Force = &force
	}
	return options
}

// Apply sends a server-side apply of content to the object with its name. It returns the object and the API server's own
// error.
func (a *API) Apply(
	ctx context.Context, gvr schema.GroupVersionResource, ref mark.Ref, options metav1.PatchOptions, content map[string]any, subresources ...string,
) (*unstructured.Unstructured, error) {
	body, err := watch.AppendJSON(nil, content)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", ref, err)
	}
	return a.Resource(gvr, ref.Namespace).Patch(ctx, ref.Name, types.ApplyPatchType, body, options, subresources...)
}

// PatchMetadata merges metadata into that of an object. It returns the object and the API server's own error.
func (a *API) PatchMetadata(
	ctx context.Context, gvr schema.GroupVersionResource, ref mark.Ref, manager string, metadata map[string]any,
) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encode the metadata of %s: %w", ref, err)
	}
	return a.Resource(gvr, ref.Namespace).Patch(ctx, ref.Name, types.MergePatchType, body, Strict(manager, false))
}

// PatchSteps sends a JSON patch. It returns the object and the API server's own error.
func (a *API) PatchSteps(
	ctx context.Context, gvr schema.GroupVersionResource, ref mark.Ref, options metav1.PatchOptions, steps []fieldset.Operation, subresources ...string,
) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(steps)
	if err != nil {
		return nil, fmt.Errorf("encode a patch of %s: %w", ref, err)
	}
	return a.Resource(gvr, ref.Namespace).Patch(ctx, ref.Name, types.JSONPatchType, body, options, subresources...)
}

// Reread reads the object from the API server. The error is a *ReplacedError if the object is gone or has
// another UID.
func (a *API) Reread(ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ref := mark.RefOf(live)
	fresh, err := a.Resource(gvr, ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, &ReplacedError{Ref: ref, Err: err}
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", ref, err)
	case fresh.GetUID() != ref.UID:
		return nil, &ReplacedError{Ref: ref, Err: fmt.Errorf("it has UID %s now", fresh.GetUID())}
	default:
		return fresh, nil
	}
}
