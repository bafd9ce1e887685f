package watch

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeepsPacked holds that what an informer keeps of many objects of one template is not
// what came, but reads the same.
func TestKeepsPacked(t *testing.T) {
	t.Parallel()
	const many = 1000
	m, packed := &monitor{overlay: testOverlay(nil), options: Options{Tag: func(Key, *Object) (string, bool) { return "", true }}}, 0
	for n := range many {
		object, err := Decode(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"app-%d","namespace":"default",`+
			`"uid":"%d","resourceVersion":"%d","labels":{"app.kubernetes.io/managed-by":"somebody"},"managedFields":[{"manager":"somebody","fieldsV1":{"f:data":{}}}]},`+
			`"data":{"motto":"so that there is something to share","n":"%d"}}`, n, n, n, n))
		if err != nil {
			t.Fatal(err)
		}
		item, err := m.transform(object)
		if err != nil {
			t.Fatal(err)
		}
		kept, ok := item.(*Object)
		if !ok {
			t.Fatalf("a %T is kept", item)
		}
		if kept != object {
			packed++
		}
		if diff := cmp.Diff(object.Tree().Object, kept.Tree().Object); diff != "" {
			t.Fatalf("object %d (-came +kept):\n%s", n, diff)
		}
	}
	if packed < many/2 {
		t.Errorf("%d of %d objects are packed", packed, many)
	}
}

// TestTagOfAListedObject holds that Options.Tag is asked once for each object of a list, which client-go passes to
// transform twice.
func TestTagOfAListedObject(t *testing.T) {
	t.Parallel()
	asked := 0
	m := &monitor{overlay: testOverlay(nil), options: Options{Tag: func(Key, *Object) (string, bool) {
		asked++
		return "tag", true
	}}}
	h := history{{}, {uid: "a", matches: true}}
	var kept any = h.object(2)
	for range 2 {
		var err error
		if kept, err = m.transform(kept); err != nil {
			t.Fatal(err)
		}
		if object, ok := kept.(*Object); !ok || object.Tag() != "tag" || asked != 1 {
			t.Errorf("it is kept as %v, and Tag was asked %d times", kept, asked)
		}
	}
}

// TestTagOfAnAnswer holds that Options.Tag is not asked again of a state that a write was answered with, and of every other
// state of which the labels, annotations and owner references are unknown is.
func TestTagOfAnAnswer(t *testing.T) {
	t.Parallel()
	asked := 0
	m := &monitor{overlay: testOverlay(nil), options: Options{Tag: func(_ Key, obj *Object) (string, bool) {
		asked++
		return "tag of " + obj.ResourceVersion(), true
	}}}
	h := history{{}, {uid: "a", matches: true}, {uid: "a", matches: true}, {uid: "b", matches: true}}
	came := func(version int, object *Object) {
		t.Helper()
		kept, err := m.transform(object)
		if err != nil {
			t.Fatal(err)
		}
		if object, ok := kept.(*Object); !ok || object.Tag() != "tag of "+object.ResourceVersion() {
			t.Errorf("version %d is kept as %v", version, kept)
		}
	}
	m.overlay.synced = func() bool { return false } // so that the store does not count as caught up
	m.overlay.observe(m.options.keep(m.key, h.object(2)))
	for version, want := range map[int]int{2: 1, 3: 2, 4: 2} {
		asked = 1
		if came(version, h.object(version)); asked != want {
			t.Errorf("version %d: Tag was asked %d times, want %d", version, asked, want)
		}
	}
	other := h.tree(2)
	other.SetUID("c")
	asked = 0
	if came(2, Of(other)); asked != 1 {
		t.Error("the tag of another object counts")
	}
}

// TestAnswerThatTheWatchHasShown holds that Options.Tag is not asked of an answer that came after its event, or after a
// newer answer, and that such an answer changes nothing.
func TestAnswerThatTheWatchHasShown(t *testing.T) {
	t.Parallel()
	asked := 0
	options := Options{Tag: func(Key, *Object) (string, bool) {
		asked++
		return "tag", true
	}}
	mon := &monitor{overlay: testOverlay(nil), options: options}
	monitors := &Monitors{options: options, monitors: map[Key]*monitor{{}: mon}}
	h := history{{}, {uid: "a", matches: true}, {uid: "a", matches: true}, {uid: "a", matches: true}}
	shown := func() int {
		object, _ := mon.overlay.resolve("default/thing")
		return versionOf(object)
	}
	deliver(t, mon.overlay, h, 2)
	if monitors.Observe(Key{}, h.tree(2)); asked != 0 || shown() != 2 {
		t.Errorf("after its event: Tag was asked %d times, and version %d shows", asked, shown())
	}
	if monitors.Observe(Key{}, h.tree(4)); asked != 1 || shown() != 4 {
		t.Errorf("before its event: Tag was asked %d times, and version %d shows", asked, shown())
	}
	if monitors.Observe(Key{}, h.tree(3)); asked != 1 || shown() != 4 {
		t.Errorf("after a newer answer: Tag was asked %d times, and version %d shows", asked, shown())
	}
}

// TestTagIsAskedForNewMarkings holds that Options.Tag is asked again for an object only if what it may depend on has
// changed.
func TestTagIsAskedForNewMarkings(t *testing.T) {
	t.Parallel()
	asked, hides := 0, false
	m := &monitor{overlay: testOverlay(nil), options: Options{Tag: func(Key, *Object) (string, bool) {
		asked++
		return fmt.Sprint("tag ", asked), !hides
	}}}
	for i, step := range []struct {
		metadata, content string
		hides, asks       bool
	}{
		{metadata: `"uid":"1","labels":{"a":"b"}`, content: "1", asks: true},
		{metadata: `"uid":"1","labels":{"a":"b"}`, content: "2"},
		{metadata: `"uid":"1","generation":2,"labels":{"a":"b"},"finalizers":["f"]`, content: "2"},
		{metadata: `"uid":"1","labels":{"a":"c"}`, content: "2", asks: true},
		{metadata: `"uid":"1","labels":{"a":"c"},"annotations":{"a":"c"}`, content: "2", asks: true},
		{metadata: `"uid":"1","labels":{"a":"c"},"annotations":{"a":"d"}`, content: "2", asks: true},
		{metadata: `"uid":"1","labels":{"a":"d"},"annotations":{"a":"c"}`, content: "2", asks: true},
		{metadata: `"uid":"1","labels":{"a":"d"},"annotations":{"a":"c"},"ownerReferences":[{"uid":"7"}]`, content: "2", asks: true},
		{metadata: `"uid":"1","labels":{"a":"d"},"annotations":{"a":"c"},"ownerReferences":[{"uid":"8"}]`, content: "2", asks: true},
		{metadata: `"uid":"2","labels":{"a":"d"},"annotations":{"a":"c"},"ownerReferences":[{"uid":"8"}]`, content: "2", asks: true},
		{metadata: `"uid":"2","labels":{"a":"e"}`, content: "2", hides: true, asks: true},
		{metadata: `"uid":"2","labels":{"a":"e"}`, content: "3", hides: true, asks: true},
		{metadata: `"uid":"2","labels":{"a":"e"}`, content: "4", asks: true},
		{metadata: `"uid":"2"`, content: "4", asks: true},
		{metadata: `"uid":"2"`, content: "5", asks: true}, // as nothing is there to compare
	} {
		object, err := Decode(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"app","namespace":"default",%s},"data":{"n":"%s"}}`,
			step.metadata, step.content))
		if err != nil {
			t.Fatal(err)
		}
		before := asked
		hides = step.hides
		item, err := m.transform(object)
		if err != nil {
			t.Fatal(err)
		}
		kept := asObject(item)
		if asks := asked > before; asks != step.asks {
			t.Errorf("step %d: Tag is asked: %t", i, asks)
		}
		if want := fmt.Sprint("tag ", asked); !kept.IsStub() && kept.Tag() != want {
			t.Errorf("step %d: the tag is %q, want %q", i, kept.Tag(), want)
		}
		if err := m.overlay.store.Update(kept); err != nil {
			t.Fatal(err)
		}
	}
}
