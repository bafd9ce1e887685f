package openapi

import (
	"fmt"
	"maps"
	"sync"
	"weak"
)

// Pool shares schemas: an object that several documents describe in the same way
// has one schema. It keeps none alive. The zero value is empty and ready; it is
// safe for concurrent use.
type Pool struct {
	mu sync.Mutex
	// byName has the objects' schemas. A name stands for one content. Guarded by mu.
	byName map[string]weak.Pointer[Schema]
}

// get finds the schema of a name; nil where nobody has it any more.
func (p *Pool) get(name string) *Schema {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byName[name].Value()
}

// put adds schemas that are complete, by name, and drops the names that nobody
// uses any more.
func (p *Pool) put(fresh map[string]*Schema) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byName == nil {
		p.byName = make(map[string]weak.Pointer[Schema])
	}
	maps.DeleteFunc(p.byName, func(_ string, s weak.Pointer[Schema]) bool { return s.Value() == nil })
	for name, s := range fresh {
		p.byName[name] = weak.Make(s)
	}
}

// shape is all of a schema that has no fields of its own.
type shape struct {
	typ      Type
	format   string
	items    *Schema
	nullable bool
	keys     string
	set      bool
	atomic   bool
	enum     string
}

// simple returns the one schema that is equal to s, which has no fields.
func (b *builder) simple(s Schema) *Schema {
	key := shape{typ: s.Type, format: s.Format, items: s.Items, nullable: s.Nullable, set: s.Set, atomic: s.Atomic}
	if len(s.Keys) > 0 {
		key.keys = fmt.Sprintf("%q %#v", s.Keys, s.KeyDefaults)
	}
	if len(s.Enum) > 0 {
		key.enum = fmt.Sprintf("%#v", s.Enum)
	}
	made := b.shapes[key]
	if made == nil {
		made = &s
		b.shapes[key] = made
	}
	return made
}

// field returns the one field that is equal to f.
func (b *builder) field(f Field) *Field {
	made := b.fields[f]
	if made == nil {
		made = &f
		b.fields[f] = made
	}
	return made
}
