package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// kinds remembers what was found of each GVK in the schema that it had last.
type kinds struct{ byGVK sync.Map }

// load fetches the schema of gvk. A server that has none is no error; a fetch that failed is.
func (k *kinds) load(ctx context.Context, schemas Schemas, gvk schema.GroupVersionKind) (fieldset.Kind, error) {
	converter, err := schemas.Converter(ctx, gvk)
	var none interface{ NoSchema() bool }
	if errors.As(err, &none) && none.NoSchema() {
		return fieldset.NewKind(gvk, managedfields.NewDeducedTypeConverter(), true)
	}
	if err != nil {
		return fieldset.Kind{}, fmt.Errorf("load the schema of %s: %w", gvk, err)
	}
	if last, ok := k.byGVK.Load(gvk); ok {
		if last, ok := last.(fieldset.Kind); ok && last.Converter == converter {
			return last, nil
		}
	}
	found, err := fieldset.NewKind(gvk, converter, false)
	if err == nil {
		k.byGVK.Store(gvk, found)
	}
	return found, err
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
