package fieldset

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Kind is what must be known about a GVK to compute the paths of its objects.
type Kind struct {
	Converter managedfields.TypeConverter
	schema    *smdschema.Schema
	root      smdschema.TypeRef
	// Deduced is true if the server has no schema for the kind: maps are then granular and lists atomic, as the
	// server itself deduces them.
	Deduced bool
	// Version is the apiVersion.
	Version string
}

// NewKind finds the type of gvk by converting an object that has nothing but its kind.
func NewKind(gvk schema.GroupVersionKind, converter managedfields.TypeConverter, deduced bool) (Kind, error) {
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(gvk)
	typed, err := converter.ObjectToTyped(bare)
	if err != nil {
		return Kind{}, fmt.Errorf("find %s in its schema: %w", gvk, err)
	}
	return Kind{Converter: converter, schema: typed.Schema(), root: typed.TypeRef(), Deduced: deduced, Version: gvk.GroupVersion().String()}, nil
}

// atom resolves a reference to a type. If that is impossible, it returns the zero Atom, which is neither scalar, list
// nor map.
func (k Kind) atom(ref smdschema.TypeRef) smdschema.Atom {
	atom, _ := k.schema.Resolve(ref)
	return atom
}

// fieldType returns the type of one field or key of a map.
func fieldType(m *smdschema.Map, name string) smdschema.TypeRef {
	if m == nil {
		return smdschema.TypeRef{}
	}
	if field, ok := m.FindField(name); ok {
		return field.Type
	}
	return m.ElementType
}

// TypedLive returns an object of the cluster as a typed value, without managedFields: in memory they have a form of
// their own.
func (k Kind) TypedLive(obj *unstructured.Unstructured) (*typed.TypedValue, error) {
	content := maps.Clone(obj.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		content["metadata"] = metadata
	}
	return k.Converter.ObjectToTyped(&unstructured.Unstructured{Object: content}, typed.AllowDuplicates)
}
