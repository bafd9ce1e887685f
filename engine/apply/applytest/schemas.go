package applytest

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// FakeSchemas answers from what it knows; kinds that it lacks have no schema.
type FakeSchemas struct {
	Known managedfields.TypeConverter
	Err   error
	// Next replaces Known at the next Recheck.
	Next managedfields.TypeConverter
}

type noSchema struct{}

func (noSchema) Error() string  { return "none" }
func (noSchema) NoSchema() bool { return true }

// Converter implements server.Schemas.
func (f *FakeSchemas) Converter(_ context.Context, gvk schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	if _, err := f.Known.ObjectToTyped(obj); err != nil {
		return nil, noSchema{}
	}
	return f.Known, nil
}

// Recheck implements server.Schemas.
func (f *FakeSchemas) Recheck(context.Context, schema.GroupVersion) (bool, error) {
	if f.Next == nil {
		return false, nil
	}
	f.Known, f.Next = f.Next, nil
	return true, nil
}
