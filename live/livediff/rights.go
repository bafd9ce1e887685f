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

// A dry run needs the rights of whoever asks, which are not those of Kanon. Both a right that is missing and admission, such as a
// quota, answer Forbidden; which of them it is, the API server says itself.

// requestError is an error with the verb of the request, and the subresource that it was for.
type requestError struct {
	verb, subresource string
	error
}

func (e *requestError) Unwrap() error { return e.error }

// asking notes with which verb the API server was asked; nil for no error.
func asking(verb string, err error) error {
	if err == nil {
		return nil
	}
	return &requestError{verb: verb, error: err}
}

// checkRight gives an error if Forbidden means that who asks lacks a right, and nil if admission refuses the object.
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
		return nil // what the API server said is shown
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

// deniedError says in words of ours what the API server said.
type deniedError struct {
	text string
	err  error
}

func (e *deniedError) Error() string { return e.text }
func (e *deniedError) Unwrap() error { return e.err }
