package engine

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/restmapping"
)

// table is a kindTable.
type table map[schema.GroupVersionKind]restmapping.Kind

func (t table) Lookup(gvk schema.GroupVersionKind) (restmapping.Kind, bool) {
	kind, ok := t[gvk]
	return kind, ok
}

func (t table) define(gvk schema.GroupVersionKind, definition restmapping.Definition) {
	t[gvk] = restmapping.Kind{GVK: gvk, Definition: definition}
}

// desk is a schemaReader and a definitionWriter that does what a test says.
type desk struct {
	asked   []string
	schemas map[schema.GroupVersionKind]kindSchema
	answers map[string]definitionAnswer
}

func (d *desk) read(gvk schema.GroupVersionKind, _ *openapi.Schema) {
	d.asked = append(d.asked, gvk.Kind)
}

func (d *desk) take(kindSet) map[schema.GroupVersionKind]kindSchema {
	taken := d.schemas
	d.schemas = nil
	return taken
}

func (d *desk) count() int {
	n := len(d.asked)
	d.asked = nil
	return n
}

// TestKindSchemas holds which schemas are awaited, and when they are read again.
func TestKindSchemas(t *testing.T) {
	wall, core := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Wall"}, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	first, second := restmapping.Definition{UID: "a", Generation: 1}, restmapping.Definition{UID: "a", Generation: 2}
	known, reads := table{}, &desk{}
	known.define(core, restmapping.Definition{})
	known.define(wall, first)
	k := newKindSchemas(known, reads)
	used := kindSet{wall: true, core: true}
	awaits := func(gvk schema.GroupVersionKind) bool { waits, _ := k.awaited(gvk); return waits }

	if k.update(used, kindSet{}, true); reads.count() != 2 || !awaits(wall) || !awaits(core) {
		t.Error("what was never read is not read, or not awaited")
	}
	reads.schemas = map[schema.GroupVersionKind]kindSchema{
		wall: {err: errors.New("not today")}, core: {schema: &openapi.Schema{Name: "core"}, at: time.Now()},
	}
	if differs := k.update(used, kindSet{}, false); !differs[core] || awaits(core) || reads.count() != 0 {
		t.Error("what was read is awaited still, or asked for again")
	}
	if waits, err := k.awaited(wall); !waits || err == nil {
		t.Error("what could not be read is not awaited, or nobody says why")
	}
	reads.schemas = map[schema.GroupVersionKind]kindSchema{wall: {schema: &openapi.Schema{Name: "wall"}, definition: first}}
	if differs := k.update(used, kindSet{}, false); !differs[wall] || awaits(wall) || k.Schema(wall) == nil {
		t.Error("what was read at last is awaited still")
	}

	known.define(wall, second)
	if k.update(used, kindSet{wall: true}, false); reads.count() != 1 || !awaits(wall) || k.Schema(wall).Name != "wall" {
		t.Error("a definition that changed is not awaited, or the schema at hand is forgotten")
	}
	reads.schemas = map[schema.GroupVersionKind]kindSchema{wall: {schema: &openapi.Schema{Name: "wall"}, definition: first}}
	if k.update(used, kindSet{}, false); reads.count() != 1 || !awaits(wall) {
		t.Error("an older definition ends the wait")
	}
	reads.schemas = map[schema.GroupVersionKind]kindSchema{wall: {schema: nil, definition: second}}
	if differs := k.update(used, kindSet{}, false); !differs[wall] || awaits(wall) || k.Schema(wall) != nil {
		t.Error("a kind that is known to have no schema is awaited")
	}

	delete(known, wall)
	if k.update(used, kindSet{wall: true}, false); awaits(wall) || reads.count() != 0 {
		t.Error("the schema of a kind that is gone is awaited")
	}
	k.update(used, kindSet{core: true}, false)
	if k.update(kindSet{}, kindSet{}, false); awaits(core) || k.Schema(core) != nil {
		t.Error("a kind that nobody uses is remembered")
	}
}

// writerDesk is a definitionWriter.
type writerDesk struct{ *desk }

func (w writerDesk) apply(d definition) { w.asked = append(w.asked, d.object.GetName()) }
func (w writerDesk) drop(string)        {}
func (w writerDesk) take() map[string]definitionAnswer {
	taken := w.answers
	w.answers = nil
	return taken
}

// walls is a definition as a text has it.
func walls(t *testing.T, text, scope string) definition {
	t.Helper()
	all, err := definitionsOf(text, []*unstructured.Unstructured{{Object: map[string]any{
		"metadata": map[string]any{"name": "walls.g"},
		"spec": map[string]any{
			"group": "g", "scope": scope, "names": map[string]any{"kind": "Wall"},
			"versions": []any{map[string]any{"name": "v1", "served": true}, map[string]any{"name": "old", "served": false}},
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// TestDefinitions holds what the rules of a text wait for: until its definitions are
// applied, and their kinds are served.
func TestDefinitions(t *testing.T) {
	wall := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Wall"}
	known, writes := table{}, writerDesk{&desk{}}
	d := newDefinitions(known, writes)
	one, other := walls(t, "one", "Namespaced"), walls(t, "another", "Cluster")

	if d.update([]definition{one}, kindSet{}); writes.count() != 1 || d.awaited("one") == "" || d.awaited("other") != "" {
		t.Error("a new definition is not applied, or not awaited by its own text alone")
	}
	if d.update([]definition{other, one}, kindSet{}); writes.count() != 0 || !strings.Contains(d.errs()["another"].Error(), "stands in one already") {
		t.Error("a definition that another text has is applied, or nobody says so")
	}
	writes.answers = map[string]definitionAnswer{"walls.g": {hash: one.hash, err: errors.New("refused"), at: time.Now()}}
	if d.update([]definition{one}, kindSet{}); d.awaited("one") != "" || d.isBusy("one") || d.errs()["one"] == nil {
		t.Error("one that is refused is awaited, or nobody says why")
	}
	writes.answers = map[string]definitionAnswer{"walls.g": {hash: one.hash, at: time.Now(), uid: "a", generation: 2}}
	if d.update([]definition{one}, kindSet{}); d.awaited("one") == "" || len(d.errs()) > 0 {
		t.Error("its kinds are not awaited")
	}
	known.define(wall, restmapping.Definition{UID: "a", Generation: 1})
	if d.awaited("one") == "" {
		t.Error("an older state of its kinds is enough")
	}
	known.define(wall, restmapping.Definition{UID: "a", Generation: 2})
	if d.awaited("one") != "" {
		t.Error("its kinds are awaited although they are served")
	}
	if d.update([]definition{one}, kindSet{wall: true}); writes.count() != 1 || d.awaited("one") != "" || !d.isBusy("one") {
		t.Error("after a change of its kinds it is not looked at again, or awaited")
	}
	delete(known, wall)
	writes.answers = map[string]definitionAnswer{"walls.g": {hash: one.hash, at: time.Now().Add(-definitionSettles), uid: "a"}}
	if d.update([]definition{one}, kindSet{}); d.awaited("one") != "" {
		t.Error("kinds that are never served are awaited for ever")
	}
	if d.update(nil, kindSet{}); len(d.winners)+len(d.answers)+len(d.asked) > 0 {
		t.Error("a definition that is in no text is remembered")
	}
}

// TestErrands holds that an errand that hangs holds up no other key, that one key has one
// errand at a time, and that what fails is tried again.
func TestErrands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newErrands[string](time.Second, time.Minute, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		calls, hangs := map[string]int{}, make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			e.run(ctx, 2, func(_ context.Context, k string) bool {
				mu.Lock()
				calls[k]++
				n := calls[k]
				mu.Unlock()
				if k == "hangs" {
					<-hangs
				}
				return k != "fails" || n == 3
			})
		}()
		e.ask("hangs")
		synctest.Wait()
		e.ask("hangs")
		e.ask("fails")
		e.ask("quick")
		<-time.After(10 * time.Second)
		mu.Lock()
		got := maps.Clone(calls)
		mu.Unlock()
		if want := map[string]int{"hangs": 1, "fails": 3, "quick": 1}; !maps.Equal(got, want) {
			t.Errorf("the errands were %v, want %v", got, want)
		}
		close(hangs)
		synctest.Wait()
		mu.Lock()
		if calls["hangs"] != 2 {
			t.Error("what was asked for meanwhile is forgotten")
		}
		mu.Unlock()
		cancel()
		<-ended
	})
}

// TestLanes holds that errands of one lane that hang hold up no other lane, and that all of
// a lane get their turn.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newErrands(time.Second, time.Minute, func(k string) string { lane, _, _ := strings.Cut(k, "/"); return lane })
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		calls, hangs := map[string]int{}, make(chan struct{})
		ended := make(chan struct{})
		count := func() map[string]int {
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(calls)
		}
		go func() {
			defer close(ended)
			e.run(ctx, laneWidth+1, func(_ context.Context, k string) bool {
				mu.Lock()
				calls[k]++
				mu.Unlock()
				if strings.HasPrefix(k, "hangs/") {
					<-hangs
				}
				return true
			})
		}()
		for _, name := range []string{"a", "b", "c", "d"} {
			e.ask("hangs/" + name)
		}
		synctest.Wait()
		e.ask("hangs/d") // it stands in the line once
		e.ask("quick/a")
		e.ask("quick/b")
		synctest.Wait()
		if got := count(); got["quick/a"] != 1 || got["quick/b"] != 1 || len(got) != 2+laneWidth {
			t.Errorf("the errands were %v", got)
		}
		close(hangs)
		synctest.Wait()
		for _, name := range []string{"a", "b", "c", "d"} {
			if got := count()["hangs/"+name]; got != 1 {
				t.Errorf("%s was made %d times", name, got)
			}
		}
		cancel()
		<-ended
	})
}

// TestWithLimit holds that a request has a deadline, and that the error says so.
func TestWithLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := time.Now()
		err := withLimit(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, errNoAnswer) || time.Since(from) != requestLimit {
			t.Errorf("after %s: %v", time.Since(from), err)
		}
	})
}
