package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/openapi"
)

const (
	// schemaWorkers is how many schemas are read in parallel. If the API server of an aggregated group hangs, it does so
	// for all kinds of the group, so there are more workers than a group usually has kinds.
	schemaWorkers = 32
	// schemaRetry is the first pause before a schema that could not be read is read again. The pause grows up to
	// schemaRetryMax, which is short because rules wait.
	schemaRetry    = time.Second
	schemaRetryMax = 30 * time.Second
)

// SchemaReader reads the schemas of kinds. It implements schemaReader.
type SchemaReader struct {
	kinds       kindLookup
	published   *openapi.Published
	definitions dynamic.ResourceInterface
	pool        openapi.Pool
	queue       *requests[schema.GroupVersionKind]
	// arrived is called after a schema was read.
	arrived func()

	mu sync.Mutex
	// wanted has the kinds to read. Guarded by mu, like everything below.
	wanted map[schema.GroupVersionKind]schemaRequest
	// requests counts the calls of Read.
	requests uint64
	// read has the results that Take has not returned yet.
	read map[schema.GroupVersionKind]ReadSchema
}

// schemaRequest requests the schema of a kind.
type schemaRequest struct {
	// before is the schema that was known before.
	before *openapi.Schema
	// number distinguishes it from a later request for the same kind.
	number uint64
}

// NewSchemaReader starts goroutines, which end when Run returns. published has the schemas of kinds without a
// definition. arrived is called after a schema was read.
func NewSchemaReader(counter *queue.Counter, kinds kindLookup, published *openapi.Published, client dynamic.Interface, arrived func()) *SchemaReader {
	return &SchemaReader{
		kinds: kinds, published: published, arrived: arrived,
		definitions: definitionsIn(client),
		queue:       newRequests[schema.GroupVersionKind](counter, schemaRetry, schemaRetryMax),
		wanted:      make(map[schema.GroupVersionKind]schemaRequest),
		read:        make(map[schema.GroupVersionKind]ReadSchema),
	}
}

// Run reads schemas until ctx ends.
func (s *SchemaReader) Run(ctx context.Context) { s.queue.Run(ctx, schemaWorkers, s.readOne) }

// Read implements schemaReader.
func (s *SchemaReader) Read(gvk schema.GroupVersionKind, before *openapi.Schema) {
	s.mu.Lock()
	s.requests++
	s.wanted[gvk] = schemaRequest{before: before, number: s.requests}
	s.mu.Unlock()
	s.queue.Add(gvk)
}

// Take implements schemaReader.
func (s *SchemaReader) Take(used KindSet) map[schema.GroupVersionKind]ReadSchema {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.wanted, func(gvk schema.GroupVersionKind, _ schemaRequest) bool { return !used.Has(gvk) })
	taken := s.read
	s.read = make(map[schema.GroupVersionKind]ReadSchema)
	maps.DeleteFunc(taken, func(gvk schema.GroupVersionKind, _ ReadSchema) bool { return !used.Has(gvk) })
	return taken
}

// readOne reads the schema of a kind, unless nobody needs it any more. It is done if another try would give the same
// result. A schema that was requested again meanwhile is read again.
func (s *SchemaReader) readOne(ctx context.Context, gvk schema.GroupVersionKind) (done bool) {
	s.mu.Lock()
	request, wanted := s.wanted[gvk]
	s.mu.Unlock()
	kind, served := s.kinds.Lookup(gvk)
	if !wanted || !served {
		return true
	}
	read, final := s.schemaOf(ctx, kind, request.before)
	if ctx.Err() != nil {
		return true
	}
	if read.Err != nil {
		logr.FromContextOrDiscard(ctx).V(1).Info("Cannot read a schema; the rules that need it wait", "kind", gvk.String(), "reason", read.Err.Error())
	}
	s.mu.Lock()
	s.read[gvk] = read
	if final && s.wanted[gvk].number == request.number {
		delete(s.wanted, gvk)
	}
	s.mu.Unlock()
	s.arrived()
	return final
}

// schemaOf reads the schema of a kind. If Kanon may not read the definition, it takes the schema that the API server
// publishes, which is not final while it may be about to change. A kind has no schema only if the API server says so.
func (s *SchemaReader) schemaOf(ctx context.Context, kind restmapping.Kind, before *openapi.Schema) (read ReadSchema, final bool) {
	read, final = ReadSchema{At: time.Now()}, true
	err := error(nil)
	if kind.Definition.UID != "" {
		read.Schema, read.Definition, err = s.fromDefinition(ctx, kind)
	}
	if kind.Definition.UID == "" || apierrors.IsForbidden(err) {
		read.Definition = kind.Definition
		read.Schema, err = s.fromPublished(ctx, kind.GVK, before)
		if final = !s.published.Settling(kind.GVK.GroupVersion()); !final && errors.Is(err, openapi.ErrNoSchema) {
			err = openapi.ErrNotPublished
		}
	}
	switch {
	case errors.Is(err, openapi.ErrNoSchema):
		logr.FromContextOrDiscard(ctx).V(1).Info("A kind has no schema", "kind", kind.GVK.String(), "reason", err.Error())
	case err != nil:
		read.Err, final = err, false
	}
	return read, final
}

// fromDefinition reads the schema of a kind from its CustomResourceDefinition, because the API server publishes a
// change of it only a moment later.
func (s *SchemaReader) fromDefinition(ctx context.Context, kind restmapping.Kind) (*openapi.Schema, restmapping.Definition, error) {
	var crd *unstructured.Unstructured
	err := withTimeout(ctx, func(ctx context.Context) (err error) {
		crd, err = s.definitions.Get(ctx, kind.GVR.GroupResource().String(), metav1.GetOptions{})
		return err
	})
	if err != nil {
		return nil, kind.Definition, err
	}
	definition := restmapping.Definition{UID: crd.GetUID(), Generation: crd.GetGeneration()}
	kinds, err := s.pool.FromCRD(crd)
	if err != nil {
		// Another try would read the same. A change of the definition is an event.
		return nil, definition, fmt.Errorf("%w: %w", openapi.ErrNoSchema, err)
	}
	return kinds.Schema(kind.GVK), definition, nil
}

// fromPublished reads the schema of a kind that the API server publishes. If it was read before, it checks whether that
// has changed.
func (s *SchemaReader) fromPublished(ctx context.Context, gvk schema.GroupVersionKind, before *openapi.Schema) (found *openapi.Schema, err error) {
	err = withTimeout(ctx, func(ctx context.Context) error {
		if before != nil {
			if _, err := s.published.Recheck(ctx, gvk.GroupVersion()); err != nil {
				return err
			}
		}
		found, err = s.published.Kind(ctx, gvk)
		return err
	})
	return found, err
}

func definitionsIn(client dynamic.Interface) dynamic.ResourceInterface {
	return client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
}
