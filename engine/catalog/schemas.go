package catalog

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/openapi"
)

// schemaReader reads the schemas of kinds in the background, and retries until it succeeds. *SchemaReader implements it.
type schemaReader interface {
	// Read asks for the schema of a kind. before is the schema known so far.
	Read(gvk schema.GroupVersionKind, before *openapi.Schema)
	// Take returns what was read since the last call for the kinds in use, and drops the requests for all other
	// kinds.
	Take(used KindSet) map[schema.GroupVersionKind]ReadSchema
}

// ReadSchema is the result of reading the schema of a kind.
type ReadSchema struct {
	// Schema is nil if the kind has none.
	Schema *openapi.Schema
	// Definition is the definition that the schema belongs to; zero for a kind without one.
	Definition restmapping.Definition
	At         time.Time
	// Err says why the schema could not be read.
	Err error
}

// schemaMaxAge is how old the schema of a kind without a definition may be when a new text is compiled with it: no
// event announces the new fields of an upgraded API server.
const schemaMaxAge = time.Minute

// kindLookup is the part of Kinds that schemas and definitions need.
type kindLookup interface {
	Lookup(gvk schema.GroupVersionKind) (restmapping.Kind, bool)
}

// schemas has the schemas of the kinds in use, for the compiler. The types of expressions depend on them, so a rule
// is not compiled while one of them is being read. The schema of a custom kind comes from its definition, whose
// changes are events; other schemas come from what the API server publishes.
type schemas struct {
	kinds  kindLookup
	reader schemaReader
	known  map[schema.GroupVersionKind]ReadSchema
	// awaited has the kinds whose schema is being read, with the error of the last attempt, if any.
	awaited map[schema.GroupVersionKind]error
}

func newSchemas(kinds kindLookup, reader schemaReader) *schemas {
	return &schemas{
		kinds: kinds, reader: reader,
		known:   make(map[schema.GroupVersionKind]ReadSchema),
		awaited: make(map[schema.GroupVersionKind]error),
	}
}

// Schema implements openapi.Schemas.
func (s *schemas) Schema(gvk schema.GroupVersionKind) *openapi.Schema { return s.known[gvk].Schema }

// mayCome reports whether the schema of a kind is not known yet: the kind is not served, or its schema is being read.
func (s *schemas) mayCome(gvk schema.GroupVersionKind) bool {
	_, known := s.known[gvk]
	return !known
}

// isAwaited reports whether the schema of a kind is being read, and why the last attempt failed.
func (s *schemas) isAwaited(gvk schema.GroupVersionKind) (awaited bool, err error) {
	err, awaited = s.awaited[gvk]
	return awaited, err
}

// update takes in what was read, asks for the unknown and outdated schemas among the kinds in use, and forgets all
// other schemas. It returns the kinds whose schema changed. newText is true if some text is new.
func (s *schemas) update(used, changed KindSet, newText bool, now time.Time) KindSet {
	differ := make(KindSet)
	for gvk, read := range s.reader.Take(used) {
		if read.Err != nil {
			s.awaited[gvk] = read.Err
			continue
		}
		if !isSameSchema(s.known[gvk].Schema, read.Schema) {
			differ.Insert(gvk)
		}
		s.known[gvk] = read
		delete(s.awaited, gvk)
	}
	isUnused := func(gvk schema.GroupVersionKind) bool {
		_, served := s.kinds.Lookup(gvk)
		return !served || !used.Has(gvk)
	}
	maps.DeleteFunc(s.known, func(gvk schema.GroupVersionKind, _ ReadSchema) bool { return isUnused(gvk) })
	maps.DeleteFunc(s.awaited, func(gvk schema.GroupVersionKind, _ error) bool { return isUnused(gvk) })
	for gvk := range used {
		kind, served := s.kinds.Lookup(gvk)
		known, ok := s.known[gvk]
		_, awaited := s.awaited[gvk]
		if !served || awaited && !changed.Has(gvk) || ok && !isOutdated(kind, known, changed.Has(gvk), newText, now) {
			continue
		}
		if !awaited {
			s.awaited[gvk] = nil
		}
		s.reader.Read(gvk, known.Schema)
	}
	return differ
}

// isOutdated reports whether a schema must be read again.
func isOutdated(kind restmapping.Kind, known ReadSchema, changed, newText bool, now time.Time) bool {
	if kind.Definition.UID != "" {
		return kind.Definition.UID != known.Definition.UID || kind.Definition.Generation > known.Definition.Generation
	}
	return changed || newText && now.Sub(known.At) >= schemaMaxAge
}

// isSameSchema compares schemas by their names, which contain a hash of the content.
func isSameSchema(a, b *openapi.Schema) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name
}
