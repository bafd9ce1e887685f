package watch

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/queue"
)

var configs = Key{GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}

func readerKey(name string) queue.Key {
	return queue.Key{Rule: "r", Parent: types.NamespacedName{Namespace: "home", Name: name}}
}

func labelled(namespace, name string, set labels.Set) *Object {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetLabels(set)
	return Of(obj)
}

// read registers a parent as the reader of an object or of a selection, and
// returns what it reads.
func (r *Readers) read(t *testing.T, parent, namespace, name, selector string) Subject {
	t.Helper()
	parsed, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	s := Subject{Informer: configs, Namespace: namespace, Name: name}
	if name == "" {
		s.Selector = parsed.String()
	}
	r.Add(readerKey(parent), s, parsed)
	return s
}

func namesOf(keys queue.Keys) []string {
	names := []string{}
	for k := range keys {
		names = append(names, k.Parent.Name)
	}
	slices.Sort(names)
	return names
}

func TestReadersOfAnEvent(t *testing.T) {
	r := NewReaders(nil)
	r.read(t, "byName", "a", "x", "")
	r.read(t, "byOtherName", "a", "y", "")
	r.read(t, "byNameElsewhere", "b", "x", "")
	r.read(t, "equal", "a", "", "app=web")
	r.read(t, "equalAnywhere", "", "", "app=web")
	r.read(t, "in", "a", "", "app in (web,shop)")
	r.read(t, "two", "a", "", "app=web,tier=front")
	r.read(t, "not", "a", "", "app!=web")
	r.read(t, "exists", "a", "", "app")
	r.read(t, "all", "a", "", "")
	r.read(t, "allAnywhere", "", "", "")

	r.read(t, "kept", "b", "", "kept=yes")
	names := r.read(t, "keptNames", "b", "", "kept=yes")
	r.Keep(readerKey("keptNames"), nil)
	names.Members = true
	r.Add(readerKey("keptNames"), names, labels.SelectorFromSet(labels.Set{"kept": "yes"}))

	otherInformer := configs
	otherInformer.Selector = "own=yes"
	web := labels.Set{"app": "web"}
	tests := map[string]struct {
		event Event
		want  []string
	}{
		"one that appears": {
			event: Event{Key: configs, New: labelled("a", "x", nil)},
			want:  []string{"all", "allAnywhere", "byName", "not"},
		},
		"one that goes": {
			event: Event{Key: configs, Old: labelled("b", "x", web)},
			want:  []string{"allAnywhere", "byNameElsewhere", "equalAnywhere"},
		},
		"one that leaves a selection": {
			event: Event{Key: configs, Old: labelled("a", "z", web), New: labelled("a", "z", nil)},
			want:  []string{"all", "allAnywhere", "equal", "equalAnywhere", "exists", "in", "not"},
		},
		"all requirements count": {
			event: Event{Key: configs, New: labelled("a", "z", labels.Set{"app": "web", "tier": "front"})},
			want:  []string{"all", "allAnywhere", "equal", "equalAnywhere", "exists", "in", "two"},
		},
		"another value": {
			event: Event{Key: configs, New: labelled("a", "z", labels.Set{"app": "shop"})},
			want:  []string{"all", "allAnywhere", "exists", "in", "not"},
		},
		"one that changes in a selection": {
			event: Event{Key: configs, Old: labelled("b", "z", labels.Set{"kept": "yes"}), New: labelled("b", "z", labels.Set{"kept": "yes", "more": "yes"})},
			want:  []string{"allAnywhere", "kept"},
		},
		"one that comes into a selection": {
			event: Event{Key: configs, Old: labelled("b", "z", nil), New: labelled("b", "z", labels.Set{"kept": "yes"})},
			want:  []string{"allAnywhere", "kept", "keptNames"},
		},
		"one that goes, of a selection": {
			event: Event{Key: configs, Old: labelled("b", "z", labels.Set{"kept": "yes"})},
			want:  []string{"allAnywhere", "kept", "keptNames"},
		},
		"another informer": {
			event: Event{Key: otherInformer, New: labelled("a", "x", web)},
			want:  []string{},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, namesOf(r.Of(tc.event))); diff != "" {
				t.Errorf("who is woken (-want +got):\n%s", diff)
			}
		})
	}
}

// What a parent does not read any more wakes it no more, and leaves nothing behind.
func TestReadersForget(t *testing.T) {
	r := NewReaders(nil)
	kept := r.read(t, "p", "a", "x", "")
	dropped := []Subject{r.read(t, "p", "a", "y", ""), r.read(t, "p", "a", "", "app=web"), r.read(t, "p", "a", "", "!app")}
	shared := r.read(t, "q", "a", "", "app=web")
	event := func(name string, set labels.Set) Event {
		return Event{Key: configs, New: labelled("a", name, set)}
	}
	r.Keep(readerKey("p"), map[Subject]bool{kept: true})
	for _, s := range dropped {
		if got := namesOf(r.Of(event(s.Name, nil))); slices.Contains(got, "p") {
			t.Errorf("%v still wakes the parent", s)
		}
	}
	if got := namesOf(r.Of(event("x", labels.Set{"app": "web"}))); !slices.Equal(got, []string{"p", "q"}) {
		t.Errorf("what is still read wakes %q", got)
	}
	r.Keep(readerKey("p"), nil)
	if got := namesOf(r.Of(event("x", labels.Set{"app": "web"}))); !slices.Equal(got, []string{"q"}) {
		t.Errorf("after one parent has gone, %q are woken", got)
	}
	r.ForgetRule("another")
	if len(r.reads) != 1 || !r.reads[readerKey("q")][shared] {
		t.Errorf("the end of another rule left %v", r.reads)
	}
	r.ForgetRule("r")
	if len(r.audiences)+len(r.reads) != 0 {
		t.Errorf("%d audiences and %d readers are left behind", len(r.audiences), len(r.reads))
	}
}

// A parent with a selection of its own is found without a look at those of others.
func TestSelectionsAreAnchored(t *testing.T) {
	r := NewReaders(nil)
	for i := range 1000 {
		r.read(t, fmt.Sprint(i), "", "", fmt.Sprintf("app=web,of=p%d", i))
	}
	for at, under := range r.audiences[configs].anchored {
		if len(under) > 2 {
			t.Errorf("%d selections stand under %v", len(under), at)
		}
	}
	got := maps.Keys(r.Of(Event{Key: configs, New: labelled("a", "x", labels.Set{"app": "web", "of": "p7"})}))
	if want := []queue.Key{readerKey("7")}; !slices.Equal(slices.Collect(got), want) {
		t.Error("not the one parent that selects it is woken")
	}
}

func BenchmarkReadersOfAnEvent(b *testing.B) {
	r := NewReaders(nil)
	for i := range 10_000 {
		s := Subject{Informer: configs, Selector: fmt.Sprintf("app=web,of=p%d", i)}
		selector, err := labels.Parse(s.Selector)
		if err != nil {
			b.Fatal(err)
		}
		r.Add(readerKey(fmt.Sprint(i)), s, selector)
	}
	event := Event{Key: configs, New: labelled("a", "x", labels.Set{"app": "web", "of": "p7"})}
	event.Old = event.New
	b.ReportAllocs()
	for b.Loop() {
		r.Of(event)
	}
}

// watches is the informers that are wanted, by their owner.
type watches map[string][]Key

func (w watches) Watch(owner string, informers ...Key) {
	if w[owner] = informers; len(informers) == 0 {
		delete(w, owner)
	}
}

// A borrowed informer runs from the first reader to the last one.
func TestBorrowed(t *testing.T) {
	w := make(watches)
	r := NewReaders(w)
	a, b := queue.Key{Rule: "r", Patch: "a"}, queue.Key{Rule: "r", Patch: "b"}
	s := Subject{Informer: Key{Namespace: "home"}, Namespace: "home", Name: "password", Borrowed: true}
	for _, k := range []queue.Key{a, b} {
		r.Add(k, s, labels.Everything())
	}
	if len(w) != 1 || len(r.Borrowers(s.Informer)) != 2 {
		t.Fatalf("%v is watched for %v, want one informer for both", w, r.Borrowers(s.Informer))
	}
	r.Keep(a, nil)
	if len(w) != 1 || !r.Borrowers(s.Informer)[b] {
		t.Errorf("%v is watched for %v, want one informer for b", w, r.Borrowers(s.Informer))
	}
	if r.ForgetRule("r"); len(w) != 0 || len(r.Borrowers(s.Informer)) != 0 {
		t.Errorf("%v is watched after the last reader", w)
	}
}
