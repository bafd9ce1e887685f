package apply

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/apply/mark"
)

// fakeSchemas answers from what it knows; kinds that it lacks have no schema.
type fakeSchemas struct {
	known managedfields.TypeConverter
	err   error
	// next replaces known at the next Recheck.
	next managedfields.TypeConverter
}

type noSchema struct{}

func (noSchema) Error() string  { return "none" }
func (noSchema) NoSchema() bool { return true }

func (f *fakeSchemas) Converter(_ context.Context, gvk schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	if f.err != nil {
		return nil, f.err
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	if _, err := f.known.ObjectToTyped(obj); err != nil {
		return nil, noSchema{}
	}
	return f.known, nil
}

func (f *fakeSchemas) Recheck(context.Context, schema.GroupVersion) (bool, error) {
	if f.next == nil {
		return false, nil
	}
	f.known, f.next = f.next, nil
	return true, nil
}

// offline returns a Writer for what sends no request.
func offline(tb testing.TB) *Writer {
	tb.Helper()
	return New(Options{
		Server: NewAPI(nil, &fakeSchemas{known: applytest.Converter(tb, applytest.Schemas)}, applytest.NoStatus),
		Marks:  testMarks(),
		NameOf: func(id string) string { return "named-" + id },
		IsGone: func(mark.Owner) bool { return false },
	})
}

// object reads YAML.
func object(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	return applytest.Object(tb, text)
}
