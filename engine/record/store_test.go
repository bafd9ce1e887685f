package record_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/rules/syntax"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// patience bounds each wait.
const patience = 30 * time.Second

var services = schema.GroupVersionKind{Version: "v1", Kind: "Service"}

// world is a namespace with records, and the keys of the installation in it.
type world struct {
	t          *testing.T
	namespace  string
	client     dynamic.Interface
	core       typedcorev1.CoreV1Interface
	configMaps typedcorev1.ConfigMapInterface
	ring       *keyring.Keyring
	// ruleID says which id a rule has; nil if that does not matter.
	ruleID func(kanonNamespace, namespace, name string) string
}

func (w *world) Keyring() *keyring.Keyring { return w.ring }

func newWorld(t *testing.T) *world {
	t.Helper()
	config := controlplanetest.Config(t)
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.Generate()
	if err != nil {
		t.Fatal(err)
	}
	namespace := controlplanetest.Namespace(t, config)
	return &world{t: t, namespace: namespace, client: client, core: clients.CoreV1(), configMaps: clients.CoreV1().ConfigMaps(namespace), ring: ring}
}

// running is a store that runs.
type running struct {
	*record.Store

	t       *testing.T
	world   *world
	changed chan struct{}
	// annotated is true once the store reported other annotations.
	annotated atomic.Bool
	stop      func()
}

// start runs a store until the test ends or stop is called, and waits until it has read the records.
func (w *world) start() *running {
	w.t.Helper()
	s := &running{t: w.t, world: w, changed: make(chan struct{}, 1)}
	ring := func() {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
	s.Store = record.New(record.Options{
		Client: w.client, Namespace: w.namespace, Keys: w, RuleID: w.ruleID, Changed: func(string) { ring() },
		Annotated: func() { s.annotated.Store(true); ring() },
	})
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	s.stop = func() { cancel(); <-ended }
	w.t.Cleanup(s.stop)
	s.await("the records are read", func() bool { loaded, _ := s.IsLoaded(); return loaded })
	return s
}

// await waits until a condition is true after a change.
func (s *running) await(what string, holds func() bool) {
	s.t.Helper()
	limit := time.After(patience)
	for !holds() {
		select {
		case <-s.changed:
		case <-limit:
			s.t.Fatalf("it never comes to be that %s", what)
		}
	}
}

// written waits until the record of a rule is in the cluster as it should be.
func (s *running) written(id string) record.Record {
	s.t.Helper()
	s.await("the record is written", func() bool { return !s.IsPending(id) })
	stored, ok := s.Get(id)
	if !ok {
		s.t.Fatal("there is no record")
	}
	return stored
}

func always() bool { return true }

// one has a record say what that of a rule may say.
func one(r *record.Record) {
	r.Rule, r.OnRuleDeletion = "kanon/one", syntax.DeleteChildren
	r.AddChild(services)
	r.Permit("5f2c", nil, nil)
}

// What one process writes, the next one reads.
func TestRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	s.Update("1", one)
	s.Update("2", one)
	first := s.written("1")
	s.written("2")
	s.DeleteIf("2", func() bool { return false })
	s.UpdateIf("1", func() bool { return false }, func(r *record.Record) { r.Revision = "late" })
	if s.IsPending("1") || s.IsPending("2") {
		t.Error("somebody changed a record who is not entitled to")
	}
	s.DeleteIf("2", always)
	s.await("the record is deleted", func() bool { return !s.IsPending("2") })
	s.stop()

	s = w.start()
	if again, ok := s.Get("1"); !ok || !again.Equal(&first) {
		t.Errorf("%+v, want %+v", again, first)
	}
	if _, ok := s.Get("2"); ok {
		t.Error("a record that was deleted is there")
	}
	if reference := s.Reference("1"); reference == nil || reference.Name != "kanon-state-1" || reference.UID == "" {
		t.Errorf("%+v", reference)
	}
}

// What Kanon wants of a record is what counts, whatever somebody else does to the ConfigMap meanwhile.
func TestRecordThatSomebodyElseChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world, live *corev1.ConfigMap) error{
		"updated": func(w *world, live *corev1.ConfigMap) error {
			live.Data = map[string]string{"record": "{}"}
			_, err := w.configMaps.Update(w.t.Context(), live, metav1.UpdateOptions{})
			return err
		},
		"deleted": func(w *world, live *corev1.ConfigMap) error {
			return w.configMaps.Delete(w.t.Context(), live.Name, metav1.DeleteOptions{})
		},
		"another one": func(w *world, live *corev1.ConfigMap) error {
			if err := w.configMaps.Delete(w.t.Context(), live.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
			_, err := w.configMaps.Create(w.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: live.Name}}, metav1.CreateOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.start()
			s.Update("1", func(r *record.Record) { one(r); r.Blocked = &record.Blocked{Revision: "5f2c", Message: "PruneHeld"} })
			s.written("1")
			live, err := w.configMaps.Get(t.Context(), "kanon-state-1", metav1.GetOptions{})
			if err == nil {
				err = change(w, live)
			}
			if err != nil {
				t.Fatal(err)
			}
			s.Update("1", func(r *record.Record) { r.Finalizers, r.Blocked = true, nil })
			want := s.written("1")
			s.stop()
			if live, err = w.configMaps.Get(t.Context(), "kanon-state-1", metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
			if live.Data["held"]+live.Data["blocked"] != "" {
				t.Errorf("what was blocked stays: %v", live.Data)
			}
			if again, ok := w.start().Get("1"); !ok || !again.Equal(&want) || !again.Finalizers {
				t.Errorf("%+v, want %+v", again, want)
			}
		})
	}
}

// A report is written into the record that a rule has, and nothing else waits for that.
func TestReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	s.Note("1", func(r *record.Record) { r.Report = &record.Report{Ready: true, Message: "running"} }) // of a rule without a record
	s.Update("1", one)
	if stored := s.written("1"); stored.Report != nil {
		t.Errorf("%+v", stored.Report)
	}
	watch, err := w.configMaps.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=kanon-state-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	awaitReport := func(want string) {
		t.Helper()
		for event := range watch.ResultChan() {
			if live, ok := event.Object.(*corev1.ConfigMap); ok && live.Data["report"] == want {
				return
			}
		}
		t.Fatalf("the report is never %q", want)
	}
	s.Note("1", func(r *record.Record) { r.Report = &record.Report{Message: "1:2: error: no"} })
	awaitReport(`{"ready":false,"message":"1:2: error: no"}`)
	select {
	case <-s.changed:
		t.Error("a report counts as a change of what the record says")
	default:
	}
	s.Note("1", func(r *record.Record) { r.Report = nil })
	awaitReport("")
}

// A record without a seal counts without its permissions.
func TestRecordWithoutASeal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	s.Update("1", one)
	s.written("1")
	s.stop()
	live, err := w.configMaps.Get(t.Context(), "kanon-state-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(live.Data, "seal")
	if _, err := w.configMaps.Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s = w.start()
	if stored := s.written("1"); stored.Revision == "5f2c" || stored.OnRuleDeletion == syntax.DeleteChildren {
		t.Errorf("%+v", stored)
	}
	if live, err = w.configMaps.Get(t.Context(), "kanon-state-1", metav1.GetOptions{}); err != nil || live.Data["seal"] == "" {
		t.Errorf("the record has no seal: %v", err)
	}
}

// A record that a newer version wrote stays as it is, whatever this version would write, and is known as such.
func TestRecordOfANewerVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	s.Update("1", one)
	s.written("1")
	s.stop()
	live, err := w.configMaps.Get(t.Context(), "kanon-state-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// A later format may have what this version cannot decode.
	live.Data["record"] = `{"format": 2, "rule": {"namespace": "kanon", "name": "one"}}`
	if live, err = w.configMaps.Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s = w.start()
	s.Update("1", one)
	s.await("the record is known to be of a newer version", func() bool { return errors.As(s.Failure("1"), new(*record.NewerError)) })
	if _, ok := s.Get("1"); ok || !s.IsPending("1") {
		t.Error("the rule may start")
	}
	s.DeleteIf("1", always)
	s.Update("2", one)
	s.written("2") // the store has done what it had to do before
	after, err := w.configMaps.Get(t.Context(), "kanon-state-1", metav1.GetOptions{})
	if err != nil || after.ResourceVersion != live.ResourceVersion {
		t.Errorf("the record was written: %v %v", err, after.Data)
	}
}

// A new key seals the records that an older one has sealed.
func TestNewKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	s.Update("1", one)
	s.written("1")
	s.stop()
	next, err := w.ring.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	w.ring = next
	w.start().written("1")
	live, err := w.configMaps.Get(t.Context(), "kanon-state-1", metav1.GetOptions{})
	if err != nil || live.Data["seal"] != next.Seal("record\x00"+w.namespace+"\x001\x00"+live.Data["record"]) {
		t.Errorf("the new key has not sealed the record: %v", err)
	}
}

// The removal of a rule is meant unless Kanon's namespace, or the record, is gone as well.
func TestRemoval(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(w *world) error
		meant  bool
	}{
		"nothing else": {func(*world) error { return nil }, true},
		"the namespace goes": {func(w *world) error {
			return w.core.Namespaces().Delete(w.t.Context(), w.namespace, metav1.DeleteOptions{})
		}, false},
		"the record is gone": {func(w *world) error {
			return w.configMaps.Delete(w.t.Context(), "kanon-state-1", metav1.DeleteOptions{})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.start()
			s.Update("1", one)
			s.written("1")
			if err := tt.before(w); err != nil {
				t.Fatal(err)
			}
			if s.IsRemovalMeant("1") {
				t.Error("that is known before it was asked")
			}
			if tt.meant {
				s.await("the removal is meant", func() bool { return s.IsRemovalMeant("1") })
				return
			}
			s.await("the rule is forgotten", func() bool { return len(s.IDs()) == 0 })
		})
	}
}

// After a recheck, a record that is gone exists again where the rule's text does.
func TestRecheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "text"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s := w.start()
	for id, text := range map[string]string{"kept": "text", "gone": "missing"} {
		s.Update(id, func(r *record.Record) { one(r); r.Origin = record.Origin{Namespace: w.namespace, ConfigMap: text} })
		s.written(id)
		if err := w.configMaps.Delete(t.Context(), "kanon-state-"+id, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.Recheck()
	s.await("the other rule is forgotten", func() bool { return len(s.IDs()) == 1 })
	s.written("kept")
	if _, err := w.configMaps.Get(t.Context(), "kanon-state-kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := w.configMaps.Get(t.Context(), "kanon-state-gone", metav1.GetOptions{}); err == nil {
		t.Error("the record of a rule that does not exist is written")
	}
}

// A record that reports a waiting removal and is deleted is not written again, whatever the removal waits for now.
func TestRemovalGivenUpWhileItsReasonChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	s.Update("1", func(r *record.Record) { one(r); r.Origin = record.Origin{Namespace: w.namespace, ConfigMap: "missing"} })
	s.written("1")
	s.Note("1", func(r *record.Record) { r.Removal = "it may not read" })
	s.written("1")
	if err := w.configMaps.Delete(t.Context(), "kanon-state-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Note("1", func(r *record.Record) { r.Removal = "it may not delete" })
	s.await("the rule is forgotten", func() bool { return len(s.IDs()) == 0 })
	if _, err := w.configMaps.Get(t.Context(), "kanon-state-1", metav1.GetOptions{}); err == nil {
		t.Error("the record exists again")
	}
}

// The annotations of a record that is gone ask for nothing, whatever it was that Kanon did without it.
func TestAnnotationsOfARecordThatIsGone(t *testing.T) {
	t.Parallel()
	remove := func(s *running) {
		if err := s.world.configMaps.Delete(s.t.Context(), "kanon-state-1", metav1.DeleteOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
	for name, lose := range map[string]func(s *running){
		"the rule is removed": func(s *running) { s.DeleteIf("1", always) },
		"the rule is removed and is back": func(s *running) {
			s.DeleteIf("1", always)
			s.await("it is", func() bool { return len(s.IDs()) == 0 })
			s.Update("1", one)
		},
		"the removal finds no record":     func(s *running) { remove(s); s.IsRemovalMeant("1") },
		"a recheck of a rule that exists": func(s *running) { remove(s); s.Recheck() },
		"a recheck of a rule that does not": func(s *running) {
			s.Update("1", func(r *record.Record) { r.Origin.ConfigMap = "missing" })
			s.written("1")
			remove(s)
			s.Recheck()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if _, err := w.configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "text"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			s := w.start()
			s.Update("1", func(r *record.Record) { one(r); r.Origin = record.Origin{Namespace: w.namespace, ConfigMap: "text"} })
			s.written("1")
			s.stop()
			patch := []byte(`{"metadata":{"annotations":{"kanon.dev/suspend":"true"}}}`)
			if _, err := w.configMaps.Patch(t.Context(), "kanon-state-1", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			s = w.start()
			if !s.Annotations("1").Suspended {
				t.Fatal("the annotation does not count")
			}
			lose(s)
			s.await("the annotation does not count any more", func() bool { return !s.Annotations("1").Suspended })
			s.await("somebody is told", func() bool { return s.annotated.Load() })
		})
	}
}

// After a recheck, the record of a tenant's rule exists again if the text does, which is in the tenant's namespace.
func TestRecheckOfATenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tenant := controlplanetest.Namespace(t, controlplanetest.Config(t))
	if _, err := w.core.ConfigMaps(tenant).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "text"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s := w.start()
	s.Update("1", func(r *record.Record) { one(r); r.Origin = record.Origin{Namespace: tenant, ConfigMap: "text"} })
	s.written("1")
	if err := w.configMaps.Delete(t.Context(), "kanon-state-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Recheck()
	s.await("the record exists again", func() bool {
		_, err := w.configMaps.Get(t.Context(), "kanon-state-1", metav1.GetOptions{})
		return err == nil
	})
}

// A removal that waits is over when the namespace of its tenant does not exist any more. Those that do not wait, and those in a
// namespace that exists, are left alone.
func TestRemovalInANamespaceThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	for id, rule := range map[string]string{"gone": "no-such-namespace/a", "new": "no-such-namespace/b", "kept": w.namespace + "/a"} {
		s.Update(id, func(r *record.Record) { one(r); r.Rule, r.Confined = rule, true })
		s.written(id)
	}
	for _, id := range []string{"gone", "kept"} {
		s.Note(id, func(r *record.Record) { r.Removal = "it may not read" })
		s.written(id)
	}
	if live, err := w.configMaps.Get(t.Context(), "kanon-state-gone", metav1.GetOptions{}); err != nil || live.Data["removal"] != "it may not read" {
		t.Fatalf("the record says %v, %v", live.Data, err)
	}
	s.Recheck()
	s.await("the removal is over", func() bool { return len(s.IDs()) == 2 })
	if _, err := w.configMaps.Get(t.Context(), "kanon-state-gone", metav1.GetOptions{}); err == nil {
		t.Error("its record exists")
	}
	s.Note("kept", func(r *record.Record) { r.Removal = "" })
	s.written("kept")
	for _, id := range []string{"new", "kept"} {
		if live, err := w.configMaps.Get(t.Context(), "kanon-state-"+id, metav1.GetOptions{}); err != nil || live.Data["removal"] != "" {
			t.Errorf("the record of %s says %v, %v", id, live.Data, err)
		}
	}
}

// A record with the seal of another rule permits nothing, and one whose name is not that of its rule is none.
func TestRecordUnderTheNameOfAnotherRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	s.Update("1", one)
	first := s.written("1")
	s.stop()
	if first.Revision == "" || first.OnRuleDeletion != syntax.DeleteChildren {
		t.Fatalf("the record permits nothing: %+v", first)
	}
	sealed, err := w.configMaps.Get(t.Context(), "kanon-state-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.configMaps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kanon-state-2", Labels: sealed.Labels}, Data: sealed.Data,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s = w.start()
	if copied, ok := s.Get("2"); !ok || copied.Revision != "" || copied.OnRuleDeletion != syntax.OrphanChildren {
		t.Errorf("the copy permits something, or is not known (%t): %+v", ok, copied)
	}
	s.stop()

	w.ruleID = func(_, namespace, name string) string {
		if namespace+"/"+name != "kanon/one" {
			t.Errorf("asked for the id of %s/%s", namespace, name)
		}
		return "1"
	}
	if err := w.configMaps.Delete(t.Context(), "kanon-state-2", metav1.DeleteOptions{}); err != nil { // the store had sealed it
		t.Fatal(err)
	}
	_, err = w.configMaps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kanon-state-2", Labels: sealed.Labels}, Data: sealed.Data,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s = w.start()
	if copied, ok := s.Get("2"); ok {
		t.Errorf("a record under the name of another rule is known: %+v", copied)
	}
	if again := s.written("1"); !again.Equal(&first) {
		t.Errorf("%+v, want %+v", again, first)
	}
}
