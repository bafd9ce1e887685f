package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
)

// recordOf is the name of the record of a rule in this world.
func (w *world) recordOf(rule string) string {
	return "kanon-state-" + mark.RuleID(w.kanon, w.kanon, rule)
}

// awaitRecord waits until the record of a rule contains a text.
func (w *world) awaitRecord(rule, text string) {
	w.t.Helper()
	w.await(configMaps, w.kanon, w.recordOf(rule), "says "+text, func(obj *unstructured.Unstructured) bool {
		record, _ := field(obj, "data", "record").(string)
		return strings.Contains(record, text)
	})
}

// While Kanon does not run, a kind is dropped from a rule. The next process deletes its objects, because the record has the kind.
func TestKindThatIsDroppedWhileAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	stop := w.run()
	w.parent("Box", "b", "{color: red}")
	w.await(w.resource("Box"), w.home, "b", "is ready", isTrue("Ready"))
	w.awaitRecord("box", `"kind":"Service"`)
	stop()

	withoutService, _, _ := strings.Cut(boxRule, "  - id: service")
	w.rule("box", withoutService)
	stop = w.run()
	w.awaitGone(services, w.home, "b")
	w.get(configMaps, w.home, "b-config")

	// Nothing is written by a restart.
	w.quiet()
	stop()
	from := w.requests.count()
	w.run()
	w.awaitLook("b")
	w.quiet()
	for _, request := range w.requests.since(from) {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("after a restart: %s", request)
		}
	}
}

// The verdict on a rule that cannot start does not wait until kinds no longer change.
func TestVerdictInSpiteOfNews(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.define("Other")
	w.rule("note", note("x"))
	w.run(func(o *engine.Options) {
		o.Client = &meddler{Client: o.Client, refuse: func(obj *unstructured.Unstructured) error {
			if strings.HasPrefix(obj.GetName(), "kanon-state-") {
				return errors.New("no room for this")
			}
			return nil
		}}
	})
	reported, churned := make(chan struct{}), make(chan struct{})
	definitions := w.client.Resource(crds)
	go func() {
		defer close(churned)
		for i := 0; ; i++ {
			select {
			case <-reported:
				return
			case <-time.After(time.Second): // several times in the five that a rule is given to start
			}
			names := fmt.Appendf(nil, `{"spec": {"names": {"shortNames": ["n%d"]}}}`, i)
			if _, err := definitions.Patch(t.Context(), "others."+w.group, types.MergePatchType, names, metav1.PatchOptions{}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	defer func() { close(reported); <-churned }()
	w.verdict("note", "no room for this")
}

// A rule that comes back while its record is being deleted creates nothing before it has a new one.
func TestRuleThatComesBackWhileItsRecordGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x"))
	w.parent("Note", "n", "{}")
	gone, returned := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.run(func(o *engine.Options) {
		o.Client = &meddler{Client: o.Client, deleted: func(name string) {
			if name == w.recordOf("note") {
				once.Do(func() { close(gone); <-returned })
			}
		}, create: func(ctx context.Context, obj *unstructured.Unstructured) {
			if obj.GetNamespace() != w.home {
				return
			}
			if _, err := w.client.Resource(configMaps).Namespace(w.kanon).Get(ctx, w.recordOf("note"), metav1.GetOptions{}); err != nil {
				t.Errorf("%s was created without a record of its rule: %v", obj.GetName(), err)
			}
		}}
	})
	w.await(configMaps, w.home, "n", "is created", has("x", "data", "text"))
	w.delete(configMaps, w.kanon, "note")
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("the record stays")
	}
	w.delete(configMaps, w.home, "n")
	w.rule("note", note("y"))
	time.AfterFunc(time.Second, func() { close(returned) }) // when the rule would have begun
	w.await(configMaps, w.home, "n", "is created again", has("y", "data", "text"))
}

// A rule whose record cannot be written creates nothing. Its verdict says why, and it starts once the record is written.
func TestRuleThatCannotBeRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x"))
	w.parent("Note", "n", "{}")
	var allowed atomic.Bool
	w.run(func(o *engine.Options) {
		o.Client = &meddler{Client: o.Client, create: func(_ context.Context, obj *unstructured.Unstructured) {
			if obj.GetNamespace() == w.home && !allowed.Load() {
				t.Errorf("%s was created before the record of its rule", obj.GetName())
			}
		}, refuse: func(obj *unstructured.Unstructured) error {
			if strings.HasPrefix(obj.GetName(), "kanon-state-") && !allowed.Load() {
				return errors.New("no room for this")
			}
			return nil
		}}
	})
	w.verdict("note", "its record cannot be written: write ConfigMap "+w.recordOf("note")+" in namespace "+w.kanon+": no room for this")
	allowed.Store(true)
	w.await(configMaps, w.home, "n", "is created", exists)
	w.verdict("note", `"ready":true`)
}
