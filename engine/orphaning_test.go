package engine_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/watch"
)

// Of a parent that is held and deleted with orphaning every child stays: those of
// which the garbage collector takes the owner reference, and those that never had one.
// It is the same when the garbage collector is done before Kanon looks.
func TestOrphaningDeletionOfAParentThatIsHeld(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.rule("wide", wideRule)
	stop := w.run()
	teams := w.resource("Team")
	for _, away := range []bool{false, true} {
		name := map[bool]string{false: "here", true: "away"}[away]
		w.team(name, elsewhere)
		if away {
			stop()
		}
		w.deleteOrphaning(teams, w.home, name)
		if away {
			w.await(teams, w.home, name, "is held by the rule alone", func(obj *unstructured.Unstructured) bool {
				return w.holds("wide")(obj) && len(obj.GetFinalizers()) == 1
			})
			w.run()
		}
		w.awaitGone(teams, w.home, name)
		w.quiet()
		w.get(configMaps, w.home, name+"-near")
		w.get(configMaps, elsewhere, name+"-far")
		w.get(w.resource("Zone"), "", w.home+"-"+name)
	}
}

// gate is a client of the engine's whose next write of one kind to one object can be
// held on its way.
type gate struct {
	client *watch.Client
	w      *world
	armed  atomic.Bool
	// held is closed when a write is held, and free lets it go on.
	held, free chan struct{}
}

func (w *world) gate(kind types.PatchType, path string) *gate {
	w.t.Helper()
	g := &gate{w: w, held: make(chan struct{}), free: make(chan struct{})}
	config := w.clientConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Content-Type") == string(kind) && strings.HasSuffix(r.URL.Path, path) && g.armed.CompareAndSwap(true, false) {
				close(g.held)
				select {
				case <-g.free:
				case <-r.Context().Done():
				}
			}
			return next.RoundTrip(r)
		})
	})
	var err error
	if g.client, err = watch.NewForConfig(config); err != nil {
		w.t.Fatal(err)
	}
	return g
}

// shut has the next write held, await waits until one is, and open lets it go on.
func (g *gate) shut() { g.armed.Store(true) }

func (g *gate) await() {
	g.w.t.Helper()
	select {
	case <-g.held:
	case <-time.After(patience):
		g.w.t.Fatal("nothing is written")
	}
}

func (g *gate) open() { close(g.free) }

// An apply that is on its way while its parent is deleted with orphaning does not bring
// back the owner reference that the garbage collector takes meanwhile, for which it
// would take the child. Once managedFields were rewritten just before, and once not.
func TestOrphaningDeletionThatCrossesAnApply(t *testing.T) {
	t.Parallel()
	for _, rewritten := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "rewritten"}[rewritten], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Box")
			w.rule("box", strings.NewReplacer(`{color: "${parent.spec.color}"}`, `"${parent.spec.data}"`,
				"    color: ${children.config.data.color}\n", "").Replace(boxRule))
			applies := w.gate(types.ApplyPatchType, "/configmaps/red-config")
			w.run(func(o *engine.Options) { o.Client = applies.client })
			boxes := w.resource("Box")
			w.parent("Box", "red", "{color: red, data: {a: one}}")
			w.await(boxes, w.home, "red", "is ready", isTrue("Ready"))
			if !rewritten {
				w.patch(boxes, w.home, "red", `{"spec":{"data":{"b":"two"}}}`)
				w.await(configMaps, w.home, "red-config", "is applied", has("two", "data", "b"))
			}
			applies.shut()
			w.patch(boxes, w.home, "red", `{"spec":{"data":{"c":"three"}}}`)
			applies.await()
			w.deleteOrphaning(boxes, w.home, "red")
			w.awaitGone(boxes, w.home, "red")
			applies.open()
			w.quiet()
			if obj := w.get(configMaps, w.home, "red-config"); obj.GetDeletionTimestamp() != nil || len(obj.GetOwnerReferences()) > 0 {
				t.Errorf("the child goes with its parent: %v", obj.Object)
			}
		})
	}
}

// A parent deleted with orphaning keeps its children: none is taken along
// because its owner reference was put back.
func TestOrphaningDeletionIsRespected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	w.run()
	w.parent("Box", "red", "{color: red}")
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	w.deleteOrphaning(w.resource("Box"), w.home, "red")
	w.awaitGone(w.resource("Box"), w.home, "red")
	w.await(services, w.home, "red", "has no owner any more", func(obj *unstructured.Unstructured) bool {
		return len(obj.GetOwnerReferences()) == 0
	})
	w.quiet()
	w.get(services, w.home, "red")
	w.get(configMaps, w.home, "red-config")
}
