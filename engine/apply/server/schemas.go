package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
)

// API sends requests, and knows schemas. It is safe for concurrent use.
type API struct {
	client    dynamic.Interface
	schemas   Schemas
	hasStatus func(schema.GroupVersionKind) bool
	// kinds has what was found of each GVK in the schema that it had last.
	kinds sync.Map
}

// New returns an API. The client sends all requests; its own rate limit, if any, holds. hasStatus reports whether a kind has a
// status subresource; nil: none has.
func New(client dynamic.Interface, schemas Schemas, hasStatus func(schema.GroupVersionKind) bool) *API {
	if hasStatus == nil {
		hasStatus = func(schema.GroupVersionKind) bool { return false }
	}
	return &API{client: client, schemas: schemas, hasStatus: hasStatus}
}

// HasStatus reports whether a kind has a status subresource: the API server then ignores the status in other writes.
func (a *API) HasStatus(gvk schema.GroupVersionKind) bool { return a.hasStatus(gvk) }

// Kind fetches the schema of gvk. A server that has none is no error; a fetch that failed is.
func (a *API) Kind(ctx context.Context, gvk schema.GroupVersionKind) (fieldset.Kind, error) {
	converter, err := a.schemas.Converter(ctx, gvk)
	var none interface{ NoSchema() bool }
	if errors.As(err, &none) && none.NoSchema() {
		return fieldset.NewKind(gvk, managedfields.NewDeducedTypeConverter(), true)
	}
	if err != nil {
		return fieldset.Kind{}, fmt.Errorf("load the schema of %s: %w", gvk, err)
	}
	if last, ok := a.kinds.Load(gvk); ok {
		if last, ok := last.(fieldset.Kind); ok && last.Converter == converter {
			return last, nil
		}
	}
	found, err := fieldset.NewKind(gvk, converter, false)
	if err == nil {
		a.kinds.Store(gvk, found)
	}
	return found, err
}

// ByNewestSchema calls prepare, and once more if an object does not fit its schema and there is a newer one: a CRD that has just
// changed is the likely innocent cause. The error of an object that fits none is an *refusal.InvalidError.
func ByNewestSchema[T any](ctx context.Context, a *API, object *unstructured.Unstructured, ref mark.Ref, prepare func() (T, error)) (prepared T, err error) {
	prepared, err = prepare()
	if !errors.As(err, new(*fieldset.SchemaMismatchError)) {
		return prepared, err
	}
	changed, recheckErr := a.schemas.Recheck(ctx, object.GroupVersionKind().GroupVersion())
	if recheckErr != nil {
		return prepared, fmt.Errorf("recheck the schema of %s: %w", ref, recheckErr)
	}
	if changed {
		prepared, err = prepare()
	}
	if mismatch, ok := errors.AsType[*fieldset.SchemaMismatchError](err); ok {
		return prepared, &refusal.InvalidError{Ref: ref, Err: mismatch.Err}
	}
	return prepared, err
}

// Schemas gives the schemas of kinds. *schemas.Schemas implements it.
type Schemas interface {
	// Converter returns the converter that knows gvk. Where the server has no schema for it, the error has a method
	// NoSchema() bool that returns true; the child is then compared by deduced paths. Any other error is passed on.
	Converter(ctx context.Context, gvk schema.GroupVersionKind) (managedfields.TypeConverter, error)
	// Recheck asks the server whether the schemas of gv are still the newest, and reports whether they changed. It limits
	// its own rate.
	Recheck(ctx context.Context, gv schema.GroupVersion) (changed bool, err error)
}
