package catalog

import (
	"context"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/restmapping"
)

// table has the kinds of a cluster.
type table map[schema.GroupVersionKind]restmapping.Kind

func (t table) Lookup(gvk schema.GroupVersionKind) (restmapping.Kind, bool) {
	kind, ok := t[gvk]
	return kind, ok
}

// slowDefinitions tells who reads a definition, and answers when it is told to.
type slowDefinitions struct {
	dynamic.NamespaceableResourceInterface
	asked  chan string
	answer chan struct{}
}

func (d slowDefinitions) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	d.asked <- name
	<-d.answer
	return &unstructured.Unstructured{Object: map[string]any{}}, nil
}

// slowClient is a client of slowDefinitions.
type slowClient struct {
	dynamic.Interface
	definitions slowDefinitions
}

func (c slowClient) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return c.definitions
}

// TestSchemaThatChangesWhileItIsRead: a schema that is asked for while it is being read is
// read once more.
func TestSchemaThatChangesWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Wall"}
		known := table{wall: {GVK: wall, Definition: restmapping.Definition{UID: "a", Generation: 1}}}
		definitions := slowDefinitions{asked: make(chan string), answer: make(chan struct{})}
		reader := NewSchemaReader(nil, known, nil, slowClient{definitions: definitions}, func() {})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go reader.Run(ctx)

		reader.Read(wall, nil)
		<-definitions.asked
		reader.Read(wall, nil) // it has changed
		definitions.answer <- struct{}{}
		synctest.Wait()
		select {
		case <-definitions.asked:
			definitions.answer <- struct{}{}
		default:
			t.Fatal("the change is lost")
		}
		synctest.Wait()
		select {
		case <-definitions.asked:
			t.Error("it is read a third time")
		default:
		}
	})
}
