package catalog

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/openapi"
)

// TestSchemas: which schemas are awaited, and when they are read again.
func TestSchemas(t *testing.T) {
	wall, core := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Wall"}, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	first, second := restmapping.Definition{UID: "a", Generation: 1}, restmapping.Definition{UID: "a", Generation: 2}
	kinds, reader, now := kindTable{}, &fakeReader{}, time.Now()
	kinds.define(core, restmapping.Definition{})
	kinds.define(wall, first)
	s := newSchemas(kinds, reader)
	used := sets.New(wall, core)
	awaits := func(gvk schema.GroupVersionKind) bool { waits, _ := s.isAwaited(gvk); return waits }

	if s.update(used, KindSet{}, true, now); reader.count() != 2 || !awaits(wall) || !awaits(core) {
		t.Error("what was never read is not read, or not awaited")
	}
	reader.read = map[schema.GroupVersionKind]ReadSchema{
		wall: {Err: errors.New("not today")}, core: {Schema: &openapi.Schema{Name: "core"}, At: now},
	}
	if differs := s.update(used, KindSet{}, false, now); !differs.Has(core) || awaits(core) || reader.count() != 0 {
		t.Error("what was read is awaited still, or asked for again")
	}
	if waits, err := s.isAwaited(wall); !waits || err == nil {
		t.Error("what could not be read is not awaited, or nobody says why")
	}
	reader.read = map[schema.GroupVersionKind]ReadSchema{wall: {Schema: &openapi.Schema{Name: "wall"}, Definition: first}}
	if differs := s.update(used, KindSet{}, false, now); !differs.Has(wall) || awaits(wall) || s.Schema(wall) == nil {
		t.Error("what was read at last is awaited still")
	}

	kinds.define(wall, second)
	if s.update(used, sets.New(wall), false, now); reader.count() != 1 || !awaits(wall) || s.Schema(wall).Name != "wall" {
		t.Error("a definition that changed is not awaited, or the schema at hand is forgotten")
	}
	reader.read = map[schema.GroupVersionKind]ReadSchema{wall: {Schema: &openapi.Schema{Name: "wall"}, Definition: first}}
	if s.update(used, KindSet{}, false, now); reader.count() != 1 || !awaits(wall) {
		t.Error("an older definition ends the wait")
	}
	reader.read = map[schema.GroupVersionKind]ReadSchema{wall: {Schema: nil, Definition: second}}
	if differs := s.update(used, KindSet{}, false, now); !differs.Has(wall) || awaits(wall) || s.Schema(wall) != nil {
		t.Error("a kind that is known to have no schema is awaited")
	}

	delete(kinds, wall)
	if s.update(used, sets.New(wall), false, now); awaits(wall) || reader.count() != 0 {
		t.Error("the schema of a kind that is gone is awaited")
	}
	s.update(used, sets.New(core), false, now)
	if s.update(KindSet{}, KindSet{}, false, now); awaits(core) || s.Schema(core) != nil {
		t.Error("a kind that nobody uses is remembered")
	}
}
