package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine"
)

// meddler is a client whose creations go through functions first, where they are set.
type meddler struct {
	engine.Client
	create func(ctx context.Context, obj *unstructured.Unstructured)
	refuse func(obj *unstructured.Unstructured) error
	// deleted is called when an object was deleted, before the engine has the answer.
	deleted func(name string)
}

func (m *meddler) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return &meddledKind{NamespaceableResourceInterface: m.Client.Resource(gvr), meddler: m}
}

type meddledKind struct {
	dynamic.NamespaceableResourceInterface
	meddler *meddler
}

func (m *meddledKind) Namespace(namespace string) dynamic.ResourceInterface {
	return &meddledNamespace{ResourceInterface: m.NamespaceableResourceInterface.Namespace(namespace), meddler: m.meddler}
}

type meddledNamespace struct {
	dynamic.ResourceInterface
	meddler *meddler
}

func (m *meddledNamespace) Create(ctx context.Context, obj *unstructured.Unstructured, options metav1.CreateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if m.meddler.create != nil {
		m.meddler.create(ctx, obj)
	}
	if m.meddler.refuse != nil {
		if err := m.meddler.refuse(obj); err != nil {
			return nil, err
		}
	}
	return m.ResourceInterface.Create(ctx, obj, options, subresources...)
}

func (m *meddledNamespace) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	err := m.ResourceInterface.Delete(ctx, name, options, subresources...)
	if m.meddler.deleted != nil {
		m.meddler.deleted(name)
	}
	return err
}

// A panic in one parent's write leaves the others alone, and the parent is tried
// again.
func TestPanicIsContained(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x"))
	var panics atomic.Int32
	w.run(func(o *engine.Options) {
		o.Client = &meddler{Client: o.Client, create: func(_ context.Context, obj *unstructured.Unstructured) {
			if obj.GetName() == "poison" && panics.Add(1) <= 3 {
				panic("nobody thought of this")
			}
		}}
	})
	w.parent("Note", "poison", "{}")
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.await(w.resource("Note"), w.home, "poison", "is ready in the end", isTrue("Ready"))
	if got := panics.Load(); got != 4 {
		t.Errorf("it was tried %d times, want three panics and a success", got)
	}
}

// An engine that ends in the middle of a pass says nothing of what it did not
// finish, and takes up no further work.
func TestEndInTheMiddle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	reached, parents := make(chan struct{}), 20
	var creations atomic.Int32
	stop := w.run(func(o *engine.Options) {
		o.Workers = 1
		o.Client = &meddler{Client: o.Client, create: func(ctx context.Context, obj *unstructured.Unstructured) {
			if obj.GetNamespace() != w.home {
				return // what is remembered of the rule
			}
			if creations.Add(1) == 1 {
				close(reached)
			}
			<-ctx.Done()
		}}
	})
	for i := range parents {
		w.parent("Box", string(rune('a'+i)), "{color: red}")
	}
	select {
	case <-reached:
	case <-time.After(patience):
		t.Fatal("no child is being made")
	}
	stop()
	if got := creations.Load(); got > 2 {
		t.Errorf("%d creations, want those of the one parent in work at most", got)
	}
	for _, request := range w.requests.since(0) {
		if request == "POST /api/v1/namespaces/"+w.home+"/events" {
			t.Errorf("an Event was sent: %s", request)
		}
	}
}

// Everything that Run started has ended when it returns, and New starts nothing.
func TestRunJoinsWhatItStarted(t *testing.T) {
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	before := goleak.IgnoreCurrent()
	stop := w.run()
	w.parent("Box", "red", "{color: red}")
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	stop()
	goleak.VerifyNone(t, before,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"))
}
