package livediff

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/engine/identity"
)

// A dry run needs the rights of the user, not those of Kanon. The API server answers Forbidden both if a right is
// missing and if admission, such as a quota, refuses the object. A SelfSubjectAccessReview tells which one it is.

// checkRight returns an error if Forbidden means that the user lacks a right, and nil if admission refuses the object.
func (d *Differ) checkRight(ctx context.Context, a memory.Attempt, verb string, forbidden error) error {
	namespace := a.Object.GetNamespace()
	attributes := map[string]any{
		"verb": verb, "group": a.GVR.Group, "version": a.GVR.Version, "resource": a.GVR.Resource, "subresource": a.Subresource,
		"namespace": namespace, "name": a.Object.GetName(),
	}
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": map[string]any{"resourceAttributes": attributes},
	}}
	reviews := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
	answer, err := d.options.Client.Resource(reviews).Create(ctx, review, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return nil // without a review, the API server's own error is shown
	case err != nil:
		return fmt.Errorf("ask the API server for rights: %w", err)
	}
	if allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed"); allowed {
		return nil
	}
	where, resource := "", a.GVR.GroupResource().String()
	if a.Subresource != "" {
		resource = a.GVR.Resource + "/" + a.Subresource
	}
	if namespace != "" {
		where = fmt.Sprintf(" in namespace %q", namespace)
	}
	return &deniedError{fmt.Sprintf("dry run of %s: you have no right to %s %s%s, which a dry run needs as the write does",
		identity.Of(a.Object), verb, resource, where), forbidden}
}

// deniedError replaces the text of an API server's error.
type deniedError struct {
	text string
	err  error
}

func (e *deniedError) Error() string { return e.text }
func (e *deniedError) Unwrap() error { return e.err }
