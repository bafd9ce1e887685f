package watch

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// history is what happens to the object of one name: its state at each resource
// version, from 1.
type history []state

// state is an object as of one version; the zero state is none.
type state struct {
	uid     types.UID
	matches bool // the selector
}

// object returns the state of a version as an object; nil if there is none.
func (h history) object(version int) *Object { return Of(h.tree(version)) }

func (h history) tree(version int) *unstructured.Unstructured {
	if version < 1 || h[version-1].uid == "" {
		return nil
	}
	obj := &unstructured.Unstructured{}
	obj.SetNamespace("default")
	obj.SetName("thing")
	obj.SetUID(h[version-1].uid)
	obj.SetResourceVersion(strconv.Itoa(version))
	if h[version-1].matches {
		obj.SetLabels(map[string]string{"in": "view", "rule": "r", "parent": "p"})
	}
	return obj
}

// visible returns the version of the object in view as of a version; 0 if none.
func (h history) visible(version int) int {
	if version < 1 || !h[version-1].matches {
		return 0
	}
	return version
}

// randomHistory makes an object come, change, leave the view, go, and come back as
// another.
func randomHistory(r *rand.Rand, length int) history {
	h := make(history, length)
	for i := range h {
		var before state
		if i > 0 {
			before = h[i-1]
		}
		switch {
		case before.uid == "":
			h[i] = state{uid: types.UID(fmt.Sprintf("uid-%d", i)), matches: r.IntN(4) > 0}
		case r.IntN(3) == 0:
			h[i] = state{}
		default:
			h[i] = state{uid: before.uid, matches: r.IntN(4) > 0}
		}
	}
	return h
}

func testOverlay(indexers cache.Indexers) *overlay {
	return &overlay{
		selector: labels.SelectorFromSet(labels.Set{"in": "view"}),
		store:    cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers),
		synced:   func() bool { return true },
		entries:  cache.NewThreadSafeStore(indexersOf(indexers, objectOf), cache.Indices{}),
		sweepAt:  minSweep,
	}
}

// deliver brings the store from one version to the next, as a watch does.
func deliver(t *testing.T, o *overlay, h history, version int) {
	t.Helper()
	was, is := h.visible(version-1), h.visible(version)
	switch {
	case is > 0:
		if err := o.store.Update(h.object(version)); err != nil {
			t.Fatal(err)
		}
		o.settle(h.object(version))
	case was > 0: // a DELETED event, with the version of the deletion
		tree := h.tree(version - 1)
		tree.SetResourceVersion(strconv.Itoa(version))
		last := Of(tree)
		if err := o.store.Delete(last); err != nil {
			t.Fatal(err)
		}
		o.settle(last)
	default: // nothing to deliver but a bookmark
		o.store.Bookmark(strconv.Itoa(version))
	}
}

// TestOverlayShowsTheNewest holds, over random histories, that readers always see
// exactly the newest of what the store and the observations say, whatever the order
// and however late they come, and that nothing is left when the store has caught up.
func TestOverlayShowsTheNewest(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 0))
		h := randomHistory(r, 12)
		o := testOverlay(ByLabels("rule", "parent"))
		stored, newest := 1, 1
		deliver(t, o, h, 1)
		for stored < len(h) {
			if r.IntN(2) == 0 {
				stored++
				deliver(t, o, h, stored)
			} else {
				version := 1 + r.IntN(min(len(h), stored+4))
				if obj := h.object(version); obj != nil {
					if r.IntN(2) == 0 || !o.isPast(obj) { // Monitors.Observe asks first
						o.observe(obj)
					}
					newest = max(newest, version)
				}
			}
			newest = max(newest, stored)
			check(t, o, h, newest, fmt.Sprintf("seed %d, store at %d, knowing %d", seed, stored, newest))
			if t.Failed() {
				t.Fatalf("history: %v", h)
			}
		}
		if o.vanished(); o.size.Load() != 0 {
			t.Fatalf("seed %d: %d entries are left", seed, o.size.Load())
		}
	}
}

// TestVanished holds that the end of an observed object is reported, once, if the store passes its whole life at once.
func TestVanished(t *testing.T) {
	life := history{{}, {uid: "a", matches: true}, {uid: "a", matches: true}, {}}
	for name, test := range map[string]struct {
		pass func(o *overlay)
		want int
	}{
		"the store has not caught up": {func(*overlay) {}, 0},
		"it lists again":              {func(o *overlay) { o.store.Bookmark("4") }, 1},
		"readers come first": {func(o *overlay) {
			o.store.Bookmark("4")
			o.resolve("default/thing")
			o.isPast(life.object(3))
			o.list(o.store.List, o.entries.ListKeys)
		}, 1},
		"events tell": {func(o *overlay) {
			for version := 2; version <= 4; version++ {
				deliver(t, o, life, version)
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOverlay(nil)
			o.store.Bookmark("1")
			o.observe(life.object(2))
			test.pass(o)
			if gone := o.vanished(); len(gone) != test.want {
				t.Errorf("%d objects have vanished, want %d", len(gone), test.want)
			}
			if gone := o.vanished(); len(gone) != 0 {
				t.Errorf("%d objects have vanished again", len(gone))
			}
		})
	}
}

func check(t *testing.T, o *overlay, h history, newest int, when string) {
	t.Helper()
	want := h.visible(newest)
	obj, ok := o.resolve("default/thing")
	if got := versionOf(obj); ok != (want > 0) || got != want {
		t.Errorf("%s: sees version %d (found: %t), want %d", when, got, ok, want)
	}
	byIndex := o.list(
		func() []any { items, _ := o.store.ByIndex(ByParent, "r/p"); return items },
		func() []string { return namesByIndex(o) },
	)
	for how, list := range map[string][]*Object{
		"list": o.list(o.store.List, o.entries.ListKeys), "by index": byIndex,
	} {
		if (len(list) == 1) != (want > 0) || len(list) > 1 {
			t.Errorf("%s: %s has %d objects, want version %d", when, how, len(list), want)
		} else if len(list) == 1 && versionOf(list[0]) != want {
			t.Errorf("%s: %s has version %d, want %d", when, how, versionOf(list[0]), want)
		}
	}
}

func namesByIndex(o *overlay) []string {
	names, _ := o.entries.IndexKeys(ByParent, "r/p")
	return names
}

func versionOf(obj *Object) int {
	version, _ := strconv.Atoi(obj.ResourceVersion())
	return version
}

// TestOverlayUnderConcurrency holds that a writer reads its own writes through
// lists, too, while the store catches up.
func TestOverlayUnderConcurrency(t *testing.T) {
	const writes = 2000
	h := make(history, writes)
	for i := range h {
		h[i] = state{uid: "uid", matches: i%7 != 6}
	}
	o := testOverlay(nil)
	deliver(t, o, h, 1)
	written := make(chan int, 8)
	var wg sync.WaitGroup
	wg.Go(func() {
		for version := range written {
			deliver(t, o, h, version)
		}
	})
	for version := 2; version <= writes; version++ {
		written <- version
		o.observe(h.object(version))
		list := o.list(o.store.List, o.entries.ListKeys)
		if want := h.visible(version); (len(list) == 1) != (want > 0) {
			t.Fatalf("after write %d the list has %d objects, want version %d", version, len(list), want)
		} else if want > 0 && versionOf(list[0]) != want {
			t.Fatalf("after write %d the list has version %d", version, versionOf(list[0]))
		}
	}
	close(written)
	wg.Wait()
	if n := o.size.Load(); n > 1 { // the last one, if no event has settled it
		t.Errorf("%d entries are left", n)
	}
}

// TestOverlayIsBounded holds that entries which no event ever settles go away.
func TestOverlayIsBounded(t *testing.T) {
	o := testOverlay(nil)
	for i := range 10 * minSweep {
		obj := &unstructured.Unstructured{}
		obj.SetName(strconv.Itoa(i)) // does not match the selector
		obj.SetResourceVersion(strconv.Itoa(i + 1))
		o.observe(Of(obj))
		o.store.Bookmark(strconv.Itoa(i)) // the watch is one behind
		if n := o.size.Load(); n > minSweep {
			t.Fatalf("%d entries after %d observations", n, i+1)
		}
	}
}

func TestOverlayIgnores(t *testing.T) {
	with := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		obj := history{{uid: "a", matches: true}, {uid: "a", matches: true}}.tree(2)
		change(obj)
		return obj
	}
	tests := map[string]struct {
		reason string
		store  string // version
		obj    *unstructured.Unstructured
	}{
		"no version":           {reason: "nothing could tell when it is out of date", store: "1", obj: with(func(o *unstructured.Unstructured) { o.SetResourceVersion("") })},
		"opaque version":       {reason: "nothing could tell when it is out of date", store: "1", obj: with(func(o *unstructured.Unstructured) { o.SetResourceVersion("x1") })},
		"opaque store":         {reason: "nothing could tell when it is out of date", store: "x1", obj: with(func(*unstructured.Unstructured) {})},
		"another namespace":    {reason: "it is not in view", store: "1", obj: with(func(o *unstructured.Unstructured) { o.SetNamespace("other") })},
		"what is known":        {store: "2", obj: with(func(*unstructured.Unstructured) {})},
		"older than the store": {reason: "it may be gone by now", store: "3", obj: with(func(*unstructured.Unstructured) {})},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := testOverlay(nil)
			o.namespace = "default"
			o.store.Bookmark(tc.store)
			o.observe(Of(tc.obj))
			if n := o.size.Load(); n != 0 {
				t.Errorf("recorded; %s", tc.reason)
			}
		})
	}
}

func TestOverlayBeforeTheFirstList(t *testing.T) {
	o := testOverlay(nil)
	synced := false
	o.synced = func() bool { return synced }
	h := history{{uid: "a", matches: true}}
	o.observe(h.object(1))
	if obj, _ := o.resolve("default/thing"); versionOf(obj) != 1 {
		t.Error("an observation before the first list is not seen")
	}
	o.store.Bookmark("x1") // the list has a version that cannot be compared
	synced = true
	if _, ok := o.resolve("default/thing"); ok {
		t.Error("an observation outlives a first list without versions")
	}
}

// TestOverlayListsWhileTheStoreCatchesUp holds that a list misses nothing and shows
// nothing old when an entry is dropped between the questions that it asks.
func TestOverlayListsWhileTheStoreCatchesUp(t *testing.T) {
	there, gone := state{uid: "a", matches: true}, state{}
	tests := map[string]struct {
		history history
		want    int // the version listed
	}{
		"created": {history: history{gone, there}, want: 2},
		"changed": {history: history{there, there}, want: 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := testOverlay(ByLabels("rule", "parent"))
			deliver(t, o, tc.history, 1)
			o.observe(tc.history.object(2))
			stored := func() []any {
				items, err := o.store.ByIndex(ByParent, "r/p")
				if err != nil {
					t.Fatal(err)
				}
				if err := o.store.Update(tc.history.object(2)); err != nil {
					t.Fatal(err)
				}
				return items
			}
			list := o.list(stored, func() []string { return namesByIndex(o) })
			got := 0
			if len(list) > 0 {
				got = versionOf(list[0])
			}
			if got != tc.want || len(list) > 1 {
				t.Errorf("lists %d objects, the first of version %d; want version %d", len(list), got, tc.want)
			}
		})
	}
}
