package openapi

import (
	"fmt"
	"maps"
	"sync"
	"weak"
)

// Pool shares schemas: if several documents describe an object in the same way, it has one schema. The pool keeps no
// schema alive. The zero value is empty and ready to use. A Pool is safe for concurrent use.
type Pool struct {
	mu sync.Mutex
	// byName has the objects' schemas. A name stands for one content. Guarded by mu.
	byName map[string]weak.Pointer[Schema]
}

// get returns the schema of a name; nil if it is no longer in use.
func (p *Pool) get(name string) *Schema {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byName[name].Value()
}

// put adds complete schemas by name, and drops names that are no longer in use.
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

// shape is the content of a schema without fields, as a map key.
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

// simple returns the shared schema that is equal to s, which has no fields.
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

// field returns the shared field that is equal to f.
func (b *builder) field(f Field) *Field {
	made := b.fields[f]
	if made == nil {
		made = &f
		b.fields[f] = made
	}
	return made
}
