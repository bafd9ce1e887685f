package watch_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/internal/controlplanetest"
)

func TestEvents(t *testing.T) {
	f := newFixture(t)
	inView := map[string]string{"rule": "r", "parent": "p"}
	f.create(t, "before", inView)
	f.create(t, "stranger", map[string]string{"rule": "other"})
	key := f.key("rule=r")
	f.monitors.Watch("owner", key)

	f.events.want(t, "added before")
	if got := f.events.synced(t); got != key {
		t.Errorf("synced %v, want %v", got, key)
	}
	if !f.monitors.HasSynced(key) {
		t.Error("HasSynced is false after Synced")
	}

	f.create(t, "one", inView)
	f.events.want(t, "added one")
	f.updateOne(t, func(obj *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(obj.Object, "b", "data", "a")
	})
	f.events.want(t, "updated one")
	f.updateOne(t, func(obj *unstructured.Unstructured) { obj.SetLabels(nil) })
	f.events.want(t, "gone one") // out of the selector's view
	f.updateOne(t, func(obj *unstructured.Unstructured) { obj.SetLabels(inView) })
	f.events.want(t, "added one")

	elsewhere := controlplanetest.Namespace(t, f.cfg)
	f.createIn(t, elsewhere, "hidden", inView)
	f.delete(t, "one")
	f.events.want(t, "gone one") // and nothing of the other namespace before it

	if got := names(f.monitors.List(key)); cmp.Diff([]string{"before"}, got) != "" {
		t.Errorf("lists %v, want before", got)
	}
	everywhere := watch.Key{GVR: configMaps(), Selector: "rule=r"}
	f.monitors.Watch("owner", key, everywhere)
	f.events.synced(t)
	if _, ok := f.monitors.Get(everywhere, elsewhere, "hidden"); !ok {
		t.Error("the object of the other namespace is not in the view of all namespaces")
	}
}

func TestReaders(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"c", "a", "b"} {
		f.create(t, name, map[string]string{"rule": "r", "parent": "p-" + name})
	}
	key := f.key("rule")
	if _, ok := f.monitors.Get(key, f.namespace, "a"); ok || f.monitors.List(key) != nil || f.monitors.HasSynced(key) {
		t.Error("something is known of a key that nobody watches")
	}
	f.monitors.Watch("owner", key)
	f.events.synced(t)

	if diff := cmp.Diff([]string{"a", "b", "c"}, names(f.monitors.List(key))); diff != "" {
		t.Errorf("wrong list (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, names(f.monitors.ByIndex(key, watch.ByParent, "r/p-b"))); diff != "" {
		t.Errorf("wrong list by index (-want +got):\n%s", diff)
	}
	if got := f.monitors.ByIndex(key, "no such index", "r/p-b"); got != nil {
		t.Errorf("an unknown index lists %v", names(got))
	}
	if obj, ok := f.monitors.Get(key, f.namespace, "b"); !ok || obj.GetName() != "b" {
		t.Errorf("got %v, %t", obj, ok)
	}
}

// TestView holds that who reads by way of a view sees what its informer held, also
// when that was released or replaced meanwhile, and that there is none before the
// first list.
func TestView(t *testing.T) {
	f := newFixture(t)
	f.create(t, "one", map[string]string{"rule": "r", "parent": "p"})
	key := f.key("rule=r")
	if f.monitors.View(key) != nil {
		t.Error("there is a view of a key that nobody watches")
	}
	f.monitors.Watch("owner", key)
	f.events.synced(t)
	view := f.monitors.View(key)
	read := func(when string) {
		t.Helper()
		if _, ok := view.Get(f.namespace, "one"); !ok || len(view.List()) != 1 || len(view.ByIndex(watch.ByParent, "r/p")) != 1 {
			t.Errorf("%s the object is not in view", when)
		}
	}
	read("at first")
	f.monitors.Restart(key.GVR)
	read("after a restart")
	f.monitors.Watch("owner")
	read("after the release")
	if f.monitors.View(key) != nil {
		t.Error("there is a view of a key that was released")
	}
}

// TestSharedAndReleased holds that owners share one watch, that it ends with the
// last of them and not before, and that a key can be had again.
func TestSharedAndReleased(t *testing.T) {
	f := newFixture(t)
	labels := map[string]string{"rule": "r", "parent": "p"}
	f.create(t, "one", labels)
	key := f.key("rule=r")

	f.monitors.Watch("first", key)
	f.monitors.Watch("second", key, f.key("rule=none"))
	f.events.synced(t)
	f.events.synced(t)
	f.events.want(t, "added one")
	f.watches(t, 2)

	f.monitors.Watch("second", key)
	f.watches(t, 1)
	f.monitors.Watch("first")
	f.updateOne(t, func(obj *unstructured.Unstructured) { obj.SetAnnotations(map[string]string{"a": "b"}) })
	f.events.want(t, "updated one") // the second owner's

	f.monitors.Watch("second")
	if _, ok := f.monitors.Get(key, f.namespace, "one"); ok {
		t.Error("the object is in view after the last release")
	}
	f.watches(t, 0)
	f.updateOne(t, func(obj *unstructured.Unstructured) { obj.SetAnnotations(nil) })

	f.monitors.Watch("first", key)
	f.events.synced(t)
	f.events.want(t, "added one") // and not an event of the first informer
	f.delete(t, "one")
	f.events.want(t, "gone one")

	// Released and wanted again at once, before anything can have stopped.
	f.create(t, "two", labels)
	f.events.want(t, "added two")
	f.monitors.Watch("first")
	f.monitors.Watch("first", key)
	f.events.synced(t)
	f.events.want(t, "added two")
	f.watches(t, 1)
}

// TestReadYourWrites holds that what was written is read back at once, whatever the
// watch has delivered, and that nothing is kept when it has caught up.
func TestReadYourWrites(t *testing.T) {
	f := newFixture(t)
	labels := map[string]string{"rule": "r", "parent": "p"}
	key := f.key("rule=r")
	f.monitors.Watch("owner", key)
	f.events.synced(t)

	read := func(step string, want *unstructured.Unstructured) {
		t.Helper()
		got, _ := f.monitors.Get(key, f.namespace, "one")
		lists := [][]*unstructured.Unstructured{f.monitors.List(key), f.monitors.ByIndex(key, watch.ByParent, "r/p")}
		for _, list := range lists {
			var listed *unstructured.Unstructured
			if len(list) > 0 {
				listed = list[0]
			}
			if len(list) > 1 || version(listed) != version(got) {
				t.Errorf("%s: lists %v, gets version %s", step, names(list), version(got))
			}
		}
		if version(got) != version(want) {
			t.Errorf("%s: reads version %q, want %q", step, version(got), version(want))
		}
	}
	for i := range 10 {
		obj := f.create(t, "one", labels)
		f.monitors.Observe(key, obj)
		read("create", obj)
		for j := range 3 {
			obj = f.updateOne(t, func(obj *unstructured.Unstructured) {
				obj.SetAnnotations(map[string]string{"n": fmt.Sprint(i, j)})
			})
			f.monitors.Observe(key, obj)
			read("update", obj)
		}
		out := f.updateOne(t, func(obj *unstructured.Unstructured) { obj.SetLabels(nil) })
		f.monitors.Observe(key, out)
		read("out of view", nil)
		obj = f.updateOne(t, func(obj *unstructured.Unstructured) { obj.SetLabels(labels) })
		f.monitors.Observe(key, obj)
		f.monitors.Observe(key, out) // an answer that comes late
		read("in view again", obj)
		f.delete(t, "one")
	}

	last := f.create(t, "last", labels)
	f.monitors.Observe(key, last)
	f.events.until(t, "added last")
	if n := f.monitors.Overlaid(key); n != 0 {
		t.Errorf("%d entries are left when the watch has caught up", n)
	}
	f.delete(t, "last")
	f.events.want(t, "gone last")
	f.monitors.Observe(key, last) // an answer that comes later than the deletion
	if _, ok := f.monitors.Get(key, f.namespace, "last"); ok {
		t.Error("a late answer brings a deleted object back")
	}
	if n := f.monitors.Overlaid(key); n != 0 {
		t.Errorf("%d entries are left of a late answer", n)
	}
}

// TestResourceGoesAway holds that a watch of a resource that went away is logged
// once, however often it is tried, and that Restart brings the new one into view.
func TestResourceGoesAway(t *testing.T) {
	f := newFixture(t)
	group := fmt.Sprintf("g%d.example.com", time.Now().UnixNano())
	things := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
	f.createDefinition(t, things)
	f.createThing(t, things, "one")

	key := watch.Key{GVR: things}
	f.monitors.Watch("owner", key)
	f.events.want(t, "added one")
	f.events.synced(t)

	f.deleteDefinition(t, things)
	f.events.want(t, "gone one")
	f.sent.drain()
	for tries := 0; tries < 4; { // a list and a watch each
		if path := f.events.receive(t, "a request for things", f.sent.sent); strings.HasSuffix(path, "/things") {
			tries++
		}
	}
	if n := f.logged.Load(); n != 1 {
		t.Errorf("%d lines were logged about the resource, want 1", n)
	}

	f.createDefinition(t, things)
	f.createThing(t, things, "two")
	f.monitors.Restart(configMaps()) // of which there is no informer
	if f.monitors.View(key) == nil {
		t.Error("the restart of another resource restarted this one")
	}
	f.monitors.Restart(things)
	f.events.want(t, "added two")
}

// TestWatchOutsideRun holds that keys may be wanted before Run, and that after Run
// nothing starts.
func TestWatchOutsideRun(t *testing.T) {
	cfg, sent := record(controlplanetest.Config(t))
	namespace := controlplanetest.Namespace(t, cfg)
	verifyNoLeaks(t)
	synced := make(chan watch.Key, 1)
	monitors := watch.New(watch.Options{
		Client:    clientFor(t, cfg),
		Handle:    func(watch.Event) {},
		Synced:    func(k watch.Key) { synced <- k },
		Failed:    func(watch.Key) {},
		Requested: func(schema.GroupResource, string) {},
		Tag:       everyTag,
	})
	key := watch.Key{GVR: configMaps(), Namespace: namespace}
	monitors.Watch("released before Run", watch.Key{GVR: configMaps()})
	monitors.Watch("released before Run")
	monitors.Watch("early", key)

	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { monitors.Run(ctx) })
	if got := <-synced; got != key {
		t.Errorf("synced %v, want %v", got, key)
	}
	cancel()
	running.Wait()
	if n := sent.openWatches(); n != 0 {
		t.Errorf("%d watches are open after Run", n)
	}
	sent.drain()
	monitors.Watch("late", watch.Key{GVR: configMaps()})
	if len(sent.sent) > 0 || monitors.HasSynced(watch.Key{GVR: configMaps()}) {
		t.Error("an informer was started after Run")
	}
}
