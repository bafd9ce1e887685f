package telemetry

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Verb is what a request does to an object.
type Verb string

// The verbs of requests that change objects. DryRun stands for all verbs of requests that only ask what would happen.
const (
	Create Verb = "create"
	Update Verb = "update"
	Apply  Verb = "apply"
	Patch  Verb = "patch"
	Delete Verb = "delete"
	DryRun Verb = "dry-run"
)

// Success is the Result of a write that succeeded.
const Success = "Success"

// NewClient returns a client that counts its writes. Reads and watches pass through.
func NewClient(client dynamic.Interface, counts Counts) dynamic.Interface {
	if counts == nil {
		return client
	}
	return counting{client, counts}
}

type counting struct {
	dynamic.Interface
	counts Counts
}

func (c counting) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	all := c.Interface.Resource(gvr)
	return resource{ResourceInterface: all, all: all, counts: c.counts, gvr: gvr}
}

// resource is a resource in all namespaces or in one.
type resource struct {
	dynamic.ResourceInterface
	all    dynamic.NamespaceableResourceInterface
	counts Counts
	gvr    schema.GroupVersionResource
}

func (r resource) Namespace(namespace string) dynamic.ResourceInterface {
	r.ResourceInterface = r.all.Namespace(namespace)
	return r
}

// count counts a request; writes that are no dry run also count for the context's Work.
func (r resource) count(ctx context.Context, verb Verb, dryRun []string, err error) {
	rule, work := "", FromContext(ctx)
	if work != nil {
		rule = work.rule
	}
	if len(dryRun) > 0 {
		verb = DryRun
	} else if work != nil {
		work.writes.Add(1)
	}
	r.counts.Wrote(rule, Write{Resource: r.gvr.GroupResource().String(), Verb: verb, Result: resultOf(err)})
}

// resultOf returns one word for the result of a request.
func resultOf(err error) string {
	if err == nil {
		return Success
	}
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason)
	}
	if errors.Is(err, context.Canceled) {
		return "Canceled"
	}
	return "NoAnswer"
}

func (r resource) Create(ctx context.Context, obj *unstructured.Unstructured, o metav1.CreateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	answer, err := r.ResourceInterface.Create(ctx, obj, o, subresources...)
	r.count(ctx, Create, o.DryRun, err)
	return answer, err //nolint:wrapcheck // It stands in for the client.
}

func (r resource) Update(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	answer, err := r.ResourceInterface.Update(ctx, obj, o, subresources...)
	r.count(ctx, Update, o.DryRun, err)
	return answer, err //nolint:wrapcheck // As above.
}

func (r resource) UpdateStatus(ctx context.Context, obj *unstructured.Unstructured, o metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	answer, err := r.ResourceInterface.UpdateStatus(ctx, obj, o)
	r.count(ctx, Update, o.DryRun, err)
	return answer, err //nolint:wrapcheck // As above.
}

func (r resource) Delete(ctx context.Context, name string, o metav1.DeleteOptions, subresources ...string) error {
	err := r.ResourceInterface.Delete(ctx, name, o, subresources...)
	r.count(ctx, Delete, o.DryRun, err)
	return err //nolint:wrapcheck // As above.
}

func (r resource) Patch(
	ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string,
) (*unstructured.Unstructured, error) {
	answer, err := r.ResourceInterface.Patch(ctx, name, kind, data, o, subresources...)
	verb := Patch
	if kind == types.ApplyPatchType {
		verb = Apply
	}
	r.count(ctx, verb, o.DryRun, err)
	return answer, err //nolint:wrapcheck // As above.
}
