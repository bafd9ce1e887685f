package apply

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
)

// API sends requests and knows schemas. It is safe for concurrent use.
type API struct {
	client    dynamic.Interface
	schemas   Schemas
	hasStatus func(schema.GroupVersionKind) bool
	// kinds caches a fieldset.Kind for each GVK, valid for the schema that the GVK had last.
	kinds sync.Map
}

// NewAPI returns an API. The client sends all requests, subject to its own rate limit. hasStatus reports whether a kind
// has a status subresource.
func NewAPI(client dynamic.Interface, schemas Schemas, hasStatus func(schema.GroupVersionKind) bool) *API {
	return &API{client: client, schemas: schemas, hasStatus: hasStatus}
}

// HasStatus reports whether a kind has a status subresource. If so, the API server ignores the status in other
// writes.
func (a *API) HasStatus(gvk schema.GroupVersionKind) bool { return a.hasStatus(gvk) }

// Kind returns the schema of gvk. If the server has none, types are deduced; only a failed fetch is an error.
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

// ByNewestSchema calls prepare. If the object does not fit its schema, and there is a newer schema, it calls prepare
// once more, because the CRD may have just changed. If the object still does not fit, the error is a
// *InvalidError.
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
		return prepared, &InvalidError{Ref: ref, Err: mismatch.Err}
	}
	return prepared, err
}

// Schemas has the schemas of kinds. *schemas.Schemas implements it.
type Schemas interface {
	// Converter returns the type converter for gvk. If the server has no schema for gvk, the error has a method
	// NoSchema() bool that returns true; paths are then deduced. Any other error is passed on.
	Converter(ctx context.Context, gvk schema.GroupVersionKind) (managedfields.TypeConverter, error)
	// Recheck asks the server whether the schemas of gv changed. It limits its own rate.
	Recheck(ctx context.Context, gv schema.GroupVersion) (changed bool, err error)
}
