package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/schemas"
)

const (
	// schemasLimit is how long all rules wait for the schemas that they are
	// compiled with. What has not come by then is not waited for.
	schemasLimit = 5 * time.Second
	// schemaReads is how many schemas are read at the same time.
	schemaReads = 8
	// schemaRetry is the first pause before a schema that could not be read is
	// asked for again; the pause grows up to reportRetryMax.
	schemaRetry = time.Second
	// schemaAge is how old a schema of no definition may be when a new text is
	// compiled with it: an upgraded API server tells nobody that its kinds have
	// new fields.
	schemaAge = time.Minute
)

// kindSchemas holds the schemas of the kinds that rules use; the compiler asks it.
// A custom kind's is that of its definition, whose change is an event; those of
// others are what the API server publishes. One goroutine owns it.
type kindSchemas struct {
	mapper      *restmapping.Mapper
	published   *schemas.Schemas
	definitions dynamic.ResourceInterface
	pool        openapi.Pool
	known       map[schema.GroupVersionKind]kindSchema
	// again fires when load is due because a schema could not be read, or may not
	// be the newest; pause is how long that takes the next time.
	again *time.Timer
	pause time.Duration
}

// kindSchema is what is known of one kind.
type kindSchema struct {
	// schema is nil where the kind has none, or none that could be read yet.
	schema *openapi.Schema
	// definition is the one that the schema is of, zero for a kind without.
	definition restmapping.Definition
	read       time.Time
	// open is true where the next look may find something else.
	open bool
}

func newKindSchemas(mapper *restmapping.Mapper, published *schemas.Schemas, client dynamic.Interface) *kindSchemas {
	again := time.NewTimer(schemaRetry)
	again.Stop()
	return &kindSchemas{
		mapper: mapper, published: published,
		definitions: client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")),
		known:       make(map[schema.GroupVersionKind]kindSchema),
		again:       again,
		pause:       schemaRetry,
	}
}

// Schema implements rules.Schemas.
func (k *kindSchemas) Schema(gvk schema.GroupVersionKind) *openapi.Schema { return k.known[gvk].schema }

// load reads the schemas of the kinds that are used, as far as they are not known
// or changed, and forgets all others. It returns the kinds whose schema is another
// than before. A schema that cannot be read is none until it can: its rules are
// compiled without it and not kept waiting. newText says that a rule is new.
func (k *kindSchemas) load(ctx context.Context, used, changed kindSet, newText bool) kindSet {
	maps.DeleteFunc(k.known, func(gvk schema.GroupVersionKind, _ kindSchema) bool { return !used[gvk] })
	ctx, cancel := context.WithTimeoutCause(ctx, schemasLimit, fmt.Errorf("no answer within %s", schemasLimit))
	defer cancel()
	type result struct {
		gvk    schema.GroupVersionKind
		schema kindSchema
	}
	results := make(chan result, len(used))
	var reads errgroup.Group
	reads.SetLimit(schemaReads)
	for gvk := range used {
		kind, served := k.mapper.Lookup(gvk)
		before, known := k.known[gvk]
		if !served || known && !k.outdated(kind, before, changed[gvk], newText) {
			continue
		}
		reads.Go(func() error {
			results <- result{gvk, k.read(ctx, kind, before)}
			return nil
		})
	}
	_ = reads.Wait() // each result tells of its own failure
	close(results)
	differs := make(kindSet)
	for r := range results {
		if !sameSchema(k.known[r.gvk].schema, r.schema.schema) {
			differs[r.gvk] = true
		}
		k.known[r.gvk] = r.schema
	}
	k.plan(len(changed) > 0 || newText)
	return differs
}

// plan has load called again where a schema is open.
func (k *kindSchemas) plan(news bool) {
	k.again.Stop()
	open := slices.ContainsFunc(slices.Collect(maps.Values(k.known)), func(s kindSchema) bool { return s.open })
	if news || !open {
		k.pause = schemaRetry
	}
	if open {
		k.again.Reset(k.pause)
		k.pause = min(2*k.pause, reportRetryMax)
	}
}

// outdated says whether a schema must be read again.
func (k *kindSchemas) outdated(kind restmapping.Kind, known kindSchema, changed, newText bool) bool {
	age := time.Since(known.read)
	switch {
	case known.open:
		return changed || age >= schemaRetry
	case kind.Definition.UID != "":
		return kind.Definition.UID != known.definition.UID || kind.Definition.Generation > known.definition.Generation
	default:
		return changed || newText && age >= schemaAge
	}
}

// read reads the schema of a kind. before is what was known of it.
func (k *kindSchemas) read(ctx context.Context, kind restmapping.Kind, before kindSchema) kindSchema {
	next := kindSchema{read: time.Now()}
	var err error
	if kind.Definition.UID != "" {
		next.schema, next.definition, err = k.readDefinition(ctx, kind)
	}
	if kind.Definition.UID == "" || apierrors.IsForbidden(err) {
		next.definition = kind.Definition
		next.schema, err = k.readPublished(ctx, kind.GVK, before)
		next.open = k.published.Settling(kind.GVK.GroupVersion())
	}
	switch {
	case errors.Is(err, schemas.ErrNoSchema):
	case err != nil:
		next.open = true
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		logr.FromContextOrDiscard(ctx).V(1).Info("a schema cannot be read; rules are checked without it for now",
			"kind", kind.GVK.String(), "reason", err.Error())
	}
	return next
}

// readDefinition reads the CustomResourceDefinition of a kind: the API server
// publishes its schema only a moment after it changed.
func (k *kindSchemas) readDefinition(ctx context.Context, kind restmapping.Kind) (*openapi.Schema, restmapping.Definition, error) {
	crd, err := k.definitions.Get(ctx, kind.GVR.GroupResource().String(), metav1.GetOptions{})
	if err != nil {
		return nil, kind.Definition, err
	}
	definition := restmapping.Definition{UID: crd.GetUID(), Generation: crd.GetGeneration()}
	kinds, err := k.pool.FromCRD(crd)
	if err != nil {
		// The same definition will not read otherwise; another one is an event.
		return nil, definition, fmt.Errorf("%w: %w", schemas.ErrNoSchema, err)
	}
	return kinds.Schema(kind.GVK), definition, nil
}

// readPublished reads the schema of a kind as the API server publishes it. One that
// was read before is checked.
func (k *kindSchemas) readPublished(ctx context.Context, gvk schema.GroupVersionKind, before kindSchema) (*openapi.Schema, error) {
	if before.schema != nil {
		if _, err := k.published.Recheck(ctx, gvk.GroupVersion()); err != nil {
			return before.schema, err
		}
	}
	return k.published.Kind(ctx, gvk)
}

// sameSchema says whether two schemas say the same, which their names tell.
func sameSchema(a, b *openapi.Schema) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name
}
