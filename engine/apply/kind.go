package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// kind is what must be known of a GVK to compute which paths an object of it has.
type kind struct {
	converter managedfields.TypeConverter
	schema    *smdschema.Schema
	root      smdschema.TypeRef
	// deduced is true where the server has no schema for the kind: maps are then granular and lists atomic, as the
	// server itself deduces them.
	deduced bool
	// version is the apiVersion.
	version string
}

// kinds remembers what was found of each GVK in the schema that it had last.
type kinds struct{ byGVK sync.Map }

// load fetches the schema of gvk. A server that has none is no error; a fetch that failed is.
func (k *kinds) load(ctx context.Context, schemas Schemas, gvk schema.GroupVersionKind) (kind, error) {
	converter, err := schemas.Converter(ctx, gvk)
	var none interface{ NoSchema() bool }
	if errors.As(err, &none) && none.NoSchema() {
		return newKind(gvk, managedfields.NewDeducedTypeConverter(), true)
	}
	if err != nil {
		return kind{}, fmt.Errorf("load the schema of %s: %w", gvk, err)
	}
	if last, ok := k.byGVK.Load(gvk); ok {
		if last, ok := last.(kind); ok && last.converter == converter {
			return last, nil
		}
	}
	found, err := newKind(gvk, converter, false)
	if err == nil {
		k.byGVK.Store(gvk, found)
	}
	return found, err
}

// newKind finds the type of gvk in a converter by converting an object that has nothing but its type.
func newKind(gvk schema.GroupVersionKind, converter managedfields.TypeConverter, deduced bool) (kind, error) {
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(gvk)
	typed, err := converter.ObjectToTyped(bare)
	if err != nil {
		return kind{}, fmt.Errorf("find %s in its schema: %w", gvk, err)
	}
	return kind{converter: converter, schema: typed.Schema(), root: typed.TypeRef(), deduced: deduced, version: gvk.GroupVersion().String()}, nil
}

// atom resolves a reference to a type; the zero Atom where it cannot be resolved, which allows nothing and promises
// nothing.
func (k kind) atom(ref smdschema.TypeRef) smdschema.Atom {
	atom, ok := k.schema.Resolve(ref)
	if !ok {
		return smdschema.Atom{}
	}
	return atom
}

// fieldType is the type of one field or key of a map.
func fieldType(m *smdschema.Map, name string) smdschema.TypeRef {
	if m == nil {
		return smdschema.TypeRef{}
	}
	if field, ok := m.FindField(name); ok {
		return field.Type
	}
	return m.ElementType
}
