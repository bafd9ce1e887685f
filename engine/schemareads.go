package engine

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

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/schemas"
)

const (
	// schemaWorkers is how many schemas are read at the same time.
	schemaWorkers = 8
	// schemaRetry is the first pause before a schema that could not be read is asked for
	// again; the pause grows up to schemaRetryMax, which is short because rules wait.
	schemaRetry    = time.Second
	schemaRetryMax = 30 * time.Second
)

// errNoAnswer says that a request was broken off at its deadline.
var errNoAnswer = fmt.Errorf("the API server has not answered within %s", requestLimit)

// schemaReads reads the schemas of kinds apart from whoever needs them. It implements
// schemaReader.
type schemaReads struct {
	mapper      kindTable
	published   *schemas.Schemas
	definitions dynamic.ResourceInterface
	pool        openapi.Pool
	errands     *errands[schema.GroupVersionKind]
	// done is called when something was read.
	done func()

	mu sync.Mutex
	// wanted has the kinds that are to be read. Guarded by mu.
	wanted map[schema.GroupVersionKind]schemaWish
	// asked counts the requests for schemas. Guarded by mu.
	asked uint64
	// results are what nobody has taken. Guarded by mu.
	results map[schema.GroupVersionKind]kindSchema
}

// groupOfKind is the lane of a schema: the API servers behind an aggregated group hang for
// all its kinds.
func groupOfKind(gvk schema.GroupVersionKind) string { return gvk.Group }

// schemaWish is a request for the schema of a kind.
type schemaWish struct {
	// before is the schema that was known.
	before *openapi.Schema
	// number tells it from a later request for the same kind.
	number uint64
}

func newSchemaReads(mapper kindTable, published *schemas.Schemas, client dynamic.Interface, done func()) *schemaReads {
	return &schemaReads{
		mapper: mapper, published: published, done: done,
		definitions: client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")),
		errands:     newErrands(schemaRetry, schemaRetryMax, groupOfKind),
		wanted:      make(map[schema.GroupVersionKind]schemaWish),
		results:     make(map[schema.GroupVersionKind]kindSchema),
	}
}

func (s *schemaReads) run(ctx context.Context) { s.errands.run(ctx, schemaWorkers, s.readOne) }

func (s *schemaReads) read(gvk schema.GroupVersionKind, before *openapi.Schema) {
	s.mu.Lock()
	s.asked++
	s.wanted[gvk] = schemaWish{before: before, number: s.asked}
	s.mu.Unlock()
	s.errands.ask(gvk)
}

func (s *schemaReads) take(used kindSet) map[schema.GroupVersionKind]kindSchema {
	s.mu.Lock()
	defer s.mu.Unlock()
	unused := func(gvk schema.GroupVersionKind) bool { return !used[gvk] }
	maps.DeleteFunc(s.wanted, func(gvk schema.GroupVersionKind, _ schemaWish) bool { return unused(gvk) })
	taken := s.results
	s.results = make(map[schema.GroupVersionKind]kindSchema)
	maps.DeleteFunc(taken, func(gvk schema.GroupVersionKind, _ kindSchema) bool { return unused(gvk) })
	return taken
}

// readOne reads the schema of a kind, unless nobody needs it any more. It is done when
// nothing else can come of another try. What was asked for meanwhile is read again.
func (s *schemaReads) readOne(ctx context.Context, gvk schema.GroupVersionKind) (done bool) {
	s.mu.Lock()
	wish, wanted := s.wanted[gvk]
	s.mu.Unlock()
	kind, served := s.mapper.Lookup(gvk)
	if !wanted || !served {
		return true
	}
	result, final := s.schemaOf(ctx, kind, wish.before)
	if ctx.Err() != nil {
		return true
	}
	if result.err != nil {
		logr.FromContextOrDiscard(ctx).V(1).Info("a schema cannot be read; the rules that need it wait", "kind", gvk.String(), "reason", result.err.Error())
	}
	s.mu.Lock()
	s.results[gvk] = result
	if final && s.wanted[gvk].number == wish.number {
		delete(s.wanted, gvk)
	}
	s.mu.Unlock()
	s.done()
	return final
}

// schemaOf reads the schema of a kind. A definition that cannot be read because that is
// forbidden has the schema that the API server publishes. Such a one may be about to
// change, which is not final. A kind has no schema only if the API server says so.
func (s *schemaReads) schemaOf(ctx context.Context, kind restmapping.Kind, before *openapi.Schema) (read kindSchema, final bool) {
	read, final = kindSchema{at: time.Now()}, true
	err := error(nil)
	if kind.Definition.UID != "" {
		read.schema, read.definition, err = s.readDefinition(ctx, kind)
	}
	if kind.Definition.UID == "" || apierrors.IsForbidden(err) {
		read.definition = kind.Definition
		read.schema, err = s.readPublished(ctx, kind.GVK, before)
		if final = !s.published.Settling(kind.GVK.GroupVersion()); !final && errors.Is(err, schemas.ErrNoSchema) {
			err = schemas.ErrNotPublished
		}
	}
	switch {
	case errors.Is(err, schemas.ErrNoSchema):
		logr.FromContextOrDiscard(ctx).V(1).Info("a kind has no schema", "kind", kind.GVK.String(), "reason", err.Error())
	case err != nil:
		read.err, final = err, false
	}
	return read, final
}

// readDefinition reads the CustomResourceDefinition of a kind: the API server
// publishes its schema only a moment after it changed.
func (s *schemaReads) readDefinition(ctx context.Context, kind restmapping.Kind) (*openapi.Schema, restmapping.Definition, error) {
	var crd *unstructured.Unstructured
	err := withLimit(ctx, func(ctx context.Context) (err error) {
		crd, err = s.definitions.Get(ctx, kind.GVR.GroupResource().String(), metav1.GetOptions{})
		return err
	})
	if err != nil {
		return nil, kind.Definition, err
	}
	definition := restmapping.Definition{UID: crd.GetUID(), Generation: crd.GetGeneration()}
	kinds, err := s.pool.FromCRD(crd)
	if err != nil {
		// The same definition will not read otherwise; another one is an event.
		return nil, definition, fmt.Errorf("%w: %w", schemas.ErrNoSchema, err)
	}
	return kinds.Schema(kind.GVK), definition, nil
}

// readPublished reads the schema of a kind as the API server publishes it. One that
// was read before is checked.
func (s *schemaReads) readPublished(ctx context.Context, gvk schema.GroupVersionKind, before *openapi.Schema) (found *openapi.Schema, err error) {
	err = withLimit(ctx, func(ctx context.Context) error {
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
