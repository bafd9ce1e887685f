package catalog

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/kinds/restmapping"
)

// SchemaReader reads the schemas of kinds for somebody who does not wait. It tries again
// until it succeeds.
type SchemaReader interface {
	// Read asks for the schema of a kind. before is what was known of it.
	Read(gvk schema.GroupVersionKind, before *openapi.Schema)
	// Take returns what was read since the last call, for those of the kinds that are in
	// use, and forgets what was asked for of all others.
	Take(used KindSet) map[schema.GroupVersionKind]ReadSchema
}

// ReadSchema is what was read of a kind.
type ReadSchema struct {
	// Schema is nil if the kind is known to have none.
	Schema *openapi.Schema
	// Definition is the one that the schema is of; zero for a kind without.
	Definition restmapping.Definition
	At         time.Time
	// Err is why it could not be read.
	Err error
}

// schemaMaxAge is how old the schema of a kind without a definition may be when a new text
// is compiled with it: no event tells that an upgraded API server has new fields.
const schemaMaxAge = time.Minute

// kindLookup is a part of Kinds.
type kindLookup interface {
	Lookup(gvk schema.GroupVersionKind) (restmapping.Kind, bool)
}

// schemas has the schemas of the kinds that rules use, for the compiler. The type of an
// expression depends on them, so a rule is not compiled while one of them is being read.
// Custom kinds have the schema of their definition, whose change is an event; other kinds
// have what the API server publishes.
type schemas struct {
	kinds  kindLookup
	reader SchemaReader
	known  map[schema.GroupVersionKind]ReadSchema
	// awaited has the kinds whose schema is being read, with the error of the last try;
	// nil if there was none.
	awaited map[schema.GroupVersionKind]error
}

func newSchemas(kinds kindLookup, reader SchemaReader) *schemas {
	return &schemas{
		kinds: kinds, reader: reader,
		known:   make(map[schema.GroupVersionKind]ReadSchema),
		awaited: make(map[schema.GroupVersionKind]error),
	}
}

// Schema implements rules.Schemas.
func (s *schemas) Schema(gvk schema.GroupVersionKind) *openapi.Schema { return s.known[gvk].Schema }

// mayCome tells whether the schema of a kind is not known yet: the kind is not served, or its schema is being read.
func (s *schemas) mayCome(gvk schema.GroupVersionKind) bool {
	_, known := s.known[gvk]
	return !known
}

// isAwaited tells whether the schema of a kind is being read, and why the last try failed.
func (s *schemas) isAwaited(gvk schema.GroupVersionKind) (awaited bool, err error) {
	err, awaited = s.awaited[gvk]
	return awaited, err
}

// update takes in what was read, and asks for the schemas that are unknown or outdated
// among the kinds in use. It forgets all others. It returns the kinds whose schema differs
// from the one before. newText tells that a text is new.
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

// isOutdated tells whether a schema must be read again.
func isOutdated(kind restmapping.Kind, known ReadSchema, changed, newText bool, now time.Time) bool {
	if kind.Definition.UID != "" {
		return kind.Definition.UID != known.Definition.UID || kind.Definition.Generation > known.Definition.Generation
	}
	return changed || newText && now.Sub(known.At) >= schemaMaxAge
}

// isSameSchema compares schemas by their names, which have a hash of the content.
func isSameSchema(a, b *openapi.Schema) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name
}
