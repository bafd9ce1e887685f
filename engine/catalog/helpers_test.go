package catalog

import (
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/restmapping"
)

// kindTable has the kinds of a cluster.
type kindTable map[schema.GroupVersionKind]restmapping.Kind

func (t kindTable) Lookup(gvk schema.GroupVersionKind) (restmapping.Kind, bool) {
	kind, ok := t[gvk]
	return kind, ok
}

func (t kindTable) Kinds() []restmapping.Kind { return slices.Collect(maps.Values(t)) }

func (t kindTable) Missing(schema.GroupVersionKind) error { return errors.New("the kind is missing") }

func (t kindTable) define(gvk schema.GroupVersionKind, definition restmapping.Definition) {
	t[gvk] = restmapping.Kind{GVK: gvk, Namespaced: true, Definition: definition}
}

// fakeReader is a SchemaReader that a test answers for.
type fakeReader struct {
	asked []string
	read  map[schema.GroupVersionKind]ReadSchema
}

func (f *fakeReader) Read(gvk schema.GroupVersionKind, _ *openapi.Schema) {
	f.asked = append(f.asked, gvk.Kind)
}

func (f *fakeReader) Take(KindSet) map[schema.GroupVersionKind]ReadSchema {
	taken := f.read
	f.read = nil
	return taken
}

// count is how many schemas were asked for since the last call.
func (f *fakeReader) count() int {
	n := len(f.asked)
	f.asked = nil
	return n
}

// fakeWriter is a DefinitionWriter that a test answers for.
type fakeWriter struct {
	asked   []string
	applied map[string]AppliedDefinition
}

func (f *fakeWriter) Apply(d Definition) { f.asked = append(f.asked, d.Object.GetName()) }

func (f *fakeWriter) Drop(string) {}

func (f *fakeWriter) Take() map[string]AppliedDefinition {
	taken := f.applied
	f.applied = nil
	return taken
}

// count is how many definitions were asked for since the last call.
func (f *fakeWriter) count() int {
	n := len(f.asked)
	f.asked = nil
	return n
}
