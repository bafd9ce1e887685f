package livediff

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/identity"
)

// A dry run needs the rights of the user, not those of Kanon. The API server answers Forbidden both if a right is
// missing and if admission, such as a quota, refuses the object. A SelfSubjectAccessReview tells which one it is.

// requestError is an error with the verb and the subresource of its request.
type requestError struct {
	verb, subresource string
	error
}

func (e *requestError) Unwrap() error { return e.error }

// asking adds the verb to the error of a request; nil stays nil.
func asking(verb string, err error) error {
	if err == nil {
		return nil
	}
	return &requestError{verb: verb, error: err}
}

// checkRight returns an error if Forbidden means that the user lacks a right, and nil if admission refuses the object.
func (d *Differ) checkRight(ctx context.Context, object *unstructured.Unstructured, forbidden error) error {
	request, ok := errors.AsType[*requestError](forbidden)
	gvr, known := d.options.Kinds.Resource(object.GroupVersionKind())
	if !ok || !known {
		return nil
	}
	attributes := map[string]any{
		"verb": request.verb, "group": gvr.Group, "version": gvr.Version, "resource": gvr.Resource, "subresource": request.subresource, "namespace": object.GetNamespace(), "name": object.GetName(),
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
	where, resource := "", gvr.GroupResource().String()
	if request.subresource != "" {
		resource = gvr.Resource + "/" + request.subresource
	}
	if namespace := object.GetNamespace(); namespace != "" {
		where = fmt.Sprintf(" in namespace %q", namespace)
	}
	return &deniedError{fmt.Sprintf("dry run of %s: you have no right to %s %s%s, which a dry run needs as the write does",
		identity.Of(object), request.verb, resource, where), forbidden}
}

// deniedError replaces the text of an API server's error.
type deniedError struct {
	text string
	err  error
}

func (e *deniedError) Error() string { return e.text }
func (e *deniedError) Unwrap() error { return e.err }
