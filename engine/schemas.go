package engine

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/restmapping"
)

// schemaAge is how old a schema of no definition may be when a new text is compiled with
// it: an upgraded API server tells nobody that its kinds have new fields.
const schemaAge = time.Minute

// kindSchemas holds the schemas of the kinds that rules use; the compiler asks it. What an
// expression gives depends on them, so a rule is not compiled while one of them is being
// read. A custom kind's is that of its definition, whose change is an event; those of others
// are what the API server publishes. It does no I/O: schemaReads does. One goroutine owns it.
type kindSchemas struct {
	mapper kindTable
	reads  schemaReader
	known  map[schema.GroupVersionKind]kindSchema
	// reading has the kinds whose schema is awaited, with why it could not be read so
	// far; nil where it was not tried.
	reading map[schema.GroupVersionKind]error
}

// kindTable tells from memory which kinds there are.
type kindTable interface {
	Lookup(gvk schema.GroupVersionKind) (restmapping.Kind, bool)
}

// schemaReader reads schemas. What it was asked for it reads until that succeeds.
type schemaReader interface {
	// read asks for the schema of a kind; before is what was known of it.
	read(gvk schema.GroupVersionKind, before *openapi.Schema)
	// take returns what was read since the last call, for those of the kinds that are
	// used still.
	take(used kindSet) map[schema.GroupVersionKind]kindSchema
}

// kindSchema is what was read of one kind.
type kindSchema struct {
	// schema is nil where the kind is known to have none.
	schema *openapi.Schema
	// definition is the one that the schema is of, zero for a kind without.
	definition restmapping.Definition
	at         time.Time
	// err is why it could not be read.
	err error
}

func newKindSchemas(mapper kindTable, reads schemaReader) *kindSchemas {
	return &kindSchemas{
		mapper: mapper, reads: reads,
		known:   make(map[schema.GroupVersionKind]kindSchema),
		reading: make(map[schema.GroupVersionKind]error),
	}
}

// Schema implements rules.Schemas.
func (k *kindSchemas) Schema(gvk schema.GroupVersionKind) *openapi.Schema { return k.known[gvk].schema }

// awaited tells whether the schema of a kind is being read, and why that failed so far.
func (k *kindSchemas) awaited(gvk schema.GroupVersionKind) (waits bool, err error) {
	err, waits = k.reading[gvk]
	return waits, err
}

// update takes in what was read, asks for what is not known of the kinds that are used, or
// changed, and forgets all others. It returns the kinds whose schema is another than before.
// newText says that a rule is new.
func (k *kindSchemas) update(used, changed kindSet, newText bool) kindSet {
	unused := func(gvk schema.GroupVersionKind) bool {
		_, served := k.mapper.Lookup(gvk)
		return !served || !used[gvk]
	}
	differs := make(kindSet)
	for gvk, read := range k.reads.take(used) {
		if read.err != nil {
			k.reading[gvk] = read.err
			continue
		}
		if !sameSchema(k.known[gvk].schema, read.schema) {
			differs[gvk] = true
		}
		k.known[gvk] = read
		delete(k.reading, gvk)
	}
	maps.DeleteFunc(k.known, func(gvk schema.GroupVersionKind, _ kindSchema) bool { return unused(gvk) })
	maps.DeleteFunc(k.reading, func(gvk schema.GroupVersionKind, _ error) bool { return unused(gvk) })
	for gvk := range used {
		kind, served := k.mapper.Lookup(gvk)
		known, ok := k.known[gvk]
		_, reading := k.reading[gvk]
		if !served || reading && !changed[gvk] || ok && !outdated(kind, known, changed[gvk], newText) {
			continue
		}
		if !reading {
			k.reading[gvk] = nil
		}
		k.reads.read(gvk, known.schema)
	}
	return differs
}

// outdated says whether a schema must be read again.
func outdated(kind restmapping.Kind, known kindSchema, changed, newText bool) bool {
	if kind.Definition.UID != "" {
		return kind.Definition.UID != known.definition.UID || kind.Definition.Generation > known.definition.Generation
	}
	return changed || newText && time.Since(known.at) >= schemaAge
}

// sameSchema says whether two schemas say the same, which their names tell.
func sameSchema(a, b *openapi.Schema) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name
}
