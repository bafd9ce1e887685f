package engine_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := manyAtOnce(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(controlplanetest.MainWith(m, controlplanetest.Options{})) // some of them define Rule objects
}

// manyAtOnce has many tests run at the same time, whatever the number of processors,
// unless it was said how many: most of the time a test waits for something.
func manyAtOnce() error {
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(max(8, 4*runtime.GOMAXPROCS(0))))
}

// patience bounds every wait for a state; a healthy engine needs a fraction, also on a
// busy machine.
const patience = 5 * time.Minute

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	services   = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	events     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	crds       = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
)

// world is one test's part of the shared cluster: a namespace for Kanon's rules
// and one for parents, and an API group of its own for custom kinds.
type world struct {
	t      *testing.T
	config *rest.Config
	client dynamic.Interface // the test's own
	// kanon is the namespace of rule ConfigMaps, home that of parents.
	kanon, home string
	// group is the name of leased, which no other test has meanwhile; $GROUP in texts stands for it, $HOME for home.
	group  string
	leased *group
	// requests has what the engine sent, and reconciled how often it looked at
	// which parent.
	requests *requestLog
	// sink gets the log of the engine; nil for nobody.
	sink       logr.LogSink
	reconciled *tally
	// watches are those of the engines.
	watches *Watches
	// engine is the newest one that was started.
	engine *engine.Engine
}

// newWorld makes a world with custom kinds, see definition, and no others.
func newWorld(t *testing.T, kinds ...string) *world {
	t.Helper()
	return newWorldOn(t, controlplanetest.Config(t), kinds...)
}

func newWorldOn(t *testing.T, config *rest.Config, kinds ...string) *world {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	watches, err := NewWatches(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, config: config, client: client, watches: watches,
		kanon:    controlplanetest.Namespace(t, config),
		home:     controlplanetest.Namespace(t, config),
		leased:   takeGroup(config.Host, kinds),
		requests: &requestLog{},

		reconciled: &tally{of: make(map[string]int), waited: make(map[string]int), retries: make(map[string]time.Time), errors: make(map[string][]string)},
	}
	w.group = w.leased.name
	t.Cleanup(w.giveGroupBack)
	for _, kind := range kinds {
		if w.leased.installed[kind] == nil {
			w.leased.installed[kind] = w.install(w.definition(kind))
		}
	}
	return w
}

// in is the same world for a subtest.
func (w *world) in(t *testing.T) *world {
	t.Helper()
	sub := *w
	sub.t = t
	return &sub
}

// expand fills in the world's names.
func (w *world) expand(text string) string {
	return strings.NewReplacer("$GROUP", w.group, "$HOME", w.home, "$KANON", w.kanon).Replace(text)
}

// object decodes one YAML document.
func (w *world) object(text string) *unstructured.Unstructured {
	w.t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(w.expand(text)), &obj.Object); err != nil {
		w.t.Fatalf("decode %s: %v", text, err)
	}
	return obj
}

// ---- custom kinds ----

// resource is where objects of a custom kind of this world are.
func (w *world) resource(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: w.group, Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// definition is a CustomResourceDefinition with a free-form spec, and a status
// with conditions.
func (w *world) definition(kind string) *unstructured.Unstructured {
	w.t.Helper()
	return kanontest.Definition(w.t, w.group, kind, "Namespaced")
}

// define installs further custom kinds, and waits until they are served.
func (w *world) define(kinds ...string) {
	w.t.Helper()
	for _, kind := range kinds {
		w.install(w.definition(kind))
	}
}

// install installs a custom kind and waits until it is served.
func (w *world) install(definition *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	w.create(crds, definition)
	return w.await(crds, "", definition.GetName(), "is established", func(obj *unstructured.Unstructured) bool {
		return conditionStatus(obj, "Established") == "True"
	})
}

// ---- rules ----

// rule writes a rule ConfigMap with one document.
func (w *world) rule(name, text string) {
	w.t.Helper()
	w.texts(name, map[string]string{"rule.yaml": text})
}

// texts writes a rule ConfigMap, new or changed.
func (w *world) texts(name string, data map[string]string) {
	w.t.Helper()
	expanded := make(map[string]any, len(data))
	for key, text := range data {
		expanded[key] = w.expand(text)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": w.kanon, "labels": map[string]any{source.LabelRules: "true"}},
		"data":     expanded,
	}}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // Kanon may be writing its verdict
		live, err := w.client.Resource(configMaps).Namespace(w.kanon).Get(w.t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			w.create(configMaps, obj)
			return nil
		}
		if err != nil {
			return err
		}
		live.Object["data"] = expanded
		_, err = w.client.Resource(configMaps).Namespace(w.kanon).Update(w.t.Context(), live, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// verdict waits until Kanon's verdict on a rule ConfigMap contains text, and
// returns it.
func (w *world) verdict(name, text string) string {
	w.t.Helper()
	obj := w.await(configMaps, w.kanon, name, fmt.Sprintf("has a verdict with %q", text), func(obj *unstructured.Unstructured) bool {
		return strings.Contains(obj.GetAnnotations()[source.AnnotationStatus], text)
	})
	return obj.GetAnnotations()[source.AnnotationStatus]
}

// ---- the engine ----

// run starts an engine on this world's rules and returns a function that stops
// it and waits for it; the end of the test calls it too.
func (w *world) run(tweaks ...func(*engine.Options)) (stop func()) {
	w.t.Helper()
	config := rest.CopyConfig(w.config)
	config.Wrap(w.requests.wrap)
	core, err := typedcorev1.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: core.Events("")})
	options := kanontest.EngineOptions(w.t, config, w.kanon, func(c *rest.Config) { delayWatches(w.t, c) }, w.watches.Follow)
	options.Recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kanon"})
	options.RetryMax = 2 * time.Second
	for _, tweak := range tweaks {
		tweak(&options)
	}
	e, err := engine.New(options)
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine = e
	ctx, cancel := context.WithCancel(w.logging(context.Background()))
	done := make(chan error, 1)
	w.reconciled.engineStarts()
	go func() { done <- e.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				w.t.Errorf("the engine ended with %v", err)
			}
			broadcaster.Shutdown()
		})
	}
	w.t.Cleanup(stop)
	return stop
}

// clientConfig is for a client that an engine has in place of its own.
func (w *world) clientConfig() *rest.Config {
	config := rest.CopyConfig(w.config)
	config.Wrap(w.requests.wrap)
	w.watches.Follow(config)
	return config
}

// logging gives a context a log that counts reconciles, and is the test's log as
// well when KANON_TEST_LOG is set.
func (w *world) logging(ctx context.Context) context.Context {
	sink := cmp.Or[logr.LogSink](w.sink, logr.Discard().GetSink())
	if os.Getenv("KANON_TEST_LOG") != "" {
		sink = testr.NewWithInterface(w.t, testr.Options{Verbosity: 4, LogTimestamp: true}).GetSink()
	}
	return logr.NewContext(ctx, logr.New(&tallySink{LogSink: sink, tally: w.reconciled}))
}

// tally counts what engines log: the reconciles of each parent, by namespace/name, in
// all and of before the newest engine was started, the steps by which rules start and stop, and
// when what is reconciled again after a time is due.
type tally struct {
	mu         sync.Mutex
	of, before map[string]int
	// waited has, of the newest engine, those that found nothing to do yet.
	waited  map[string]int
	steps   int
	retries map[string]time.Time
	// errors has the errors that were logged about each parent.
	errors map[string][]string
}

// engineStarts has what comes now count as the newest engine's.
func (t *tally) engineStarts() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before = maps.Clone(t.of)
	clear(t.waited)
	clear(t.retries)
}

func (t *tally) add(message, parent string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch message {
	case "Reconciled": // also at rest, when a time comes
		t.of[parent]++
	case "rule started", "rule changed", "rule started again, because kinds changed", "cleaning up after a rule", "rule stopped", "rules accepted", "Informer has synced":
		t.steps++
	}
}

// addError notes an error about a parent.
func (t *tally) addError(parent, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors[parent] = append(t.errors[parent], text)
}

// addWaiting notes that a reconcile of a parent found nothing to do yet.
func (t *tally) addWaiting(parent string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waited[parent]++
}

// addOutcome notes when a key is reconciled again. Of one that failed it is not known, but soon.
func (t *tally) addOutcome(key string, failed bool, after time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.retries, key)
	if failed || after > 0 {
		t.retries[key] = time.Now().Add(after)
	}
}

// retriesBefore tells whether a key is reconciled again within a time.
func (t *tally) retriesBefore(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, due := range t.retries {
		if time.Until(due) < d {
			return true
		}
	}
	return false
}

// progress is how many steps there were.
func (t *tally) progress() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.steps
}

// looks is how often the parent of that name in the world's home was reconciled.
func (w *world) looks(parent string) int {
	w.reconciled.mu.Lock()
	defer w.reconciled.mu.Unlock()
	return w.reconciled.of[w.home+"/"+parent]
}

// errorsOf are the errors that were logged about the parent of that name in the world's home.
func (w *world) errorsOf(parent string) []string {
	w.reconciled.mu.Lock()
	defer w.reconciled.mu.Unlock()
	return slices.Clone(w.reconciled.errors[w.home+"/"+parent])
}

// looksOfTheNewest is how often the newest engine reconciled a parent.
func (w *world) looksOfTheNewest(parent string) int {
	w.reconciled.mu.Lock()
	defer w.reconciled.mu.Unlock()
	return w.reconciled.of[w.home+"/"+parent] - w.reconciled.before[w.home+"/"+parent]
}

// waits is how often the newest engine reconciled a parent and found nothing to do yet.
func (w *world) waits(parent string) int {
	w.reconciled.mu.Lock()
	defer w.reconciled.mu.Unlock()
	return w.reconciled.waited[w.home+"/"+parent]
}

// awaitLook waits until the newest engine has looked at a parent: before that its
// silence says nothing, as it may be starting still.
func (w *world) awaitLook(parent string) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); w.looksOfTheNewest(parent) == 0; {
		if time.Now().After(deadline) {
			w.t.Fatalf("the engine never looks at %s", parent)
		}
		<-time.After(50 * time.Millisecond) // the count is nowhere to be watched
	}
}

// awaitLooks waits until the engine has looked at a parent so many times more.
func (w *world) awaitLooks(parent string, more int) {
	w.t.Helper()
	want := w.looks(parent) + more
	for deadline := time.Now().Add(patience); w.looks(parent) < want; {
		if time.Now().After(deadline) {
			w.t.Fatalf("the engine does not look at %s any more", parent)
		}
		<-time.After(50 * time.Millisecond) // the count is nowhere to be watched
	}
}

// tallySink counts the engine's lines about reconciles and passes all on.
type tallySink struct {
	logr.LogSink

	tally  *tally
	parent string
	// key is what is reconciled, with its rule.
	key string
}

func (s *tallySink) Enabled(int) bool { return true }

func (s *tallySink) Info(level int, message string, values ...any) {
	s.tally.add(message, s.parent)
	if message == "Reconciled" {
		after, _ := values[3].(time.Duration)
		s.tally.addOutcome(s.key, fmt.Sprint(values[1]) == "again", after)
		if fmt.Sprint(values[1]) == "waiting" {
			s.tally.addWaiting(s.parent)
		}
	}
	if s.LogSink != nil && s.LogSink.Enabled(level) {
		s.LogSink.Info(level, message, values...)
	}
}

func (s *tallySink) Init(info logr.RuntimeInfo) {
	if s.LogSink != nil {
		s.LogSink.Init(info)
	}
}

func (s *tallySink) Error(err error, message string, values ...any) {
	s.tally.addError(s.parent, fmt.Sprintf("%s: %v", message, err))
	if s.LogSink != nil {
		s.LogSink.Error(err, message, values...)
	}
}

func (s *tallySink) WithName(name string) logr.LogSink {
	next := *s
	if s.LogSink != nil {
		next.LogSink = s.LogSink.WithName(name)
	}
	return &next
}

func (s *tallySink) WithValues(values ...any) logr.LogSink {
	next := *s
	for i := 0; i+1 < len(values); i += 2 {
		if values[i] == "parent" {
			next.parent, _ = values[i+1].(string)
		}
		next.key += fmt.Sprint(values[i : i+2]...)
	}
	if s.LogSink != nil {
		next.LogSink = s.LogSink.WithValues(values...)
	}
	return &next
}

// ---- objects ----

func (w *world) at(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return w.client.Resource(gvr)
	}
	return w.client.Resource(gvr).Namespace(namespace)
}

// create makes an object. A kind that was installed just now is served in a moment,
// which no event tells.
func (w *world) create(gvr schema.GroupVersionResource, obj *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	var made *unstructured.Unstructured
	soon := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 2, Steps: 8}
	err := retry.OnError(soon, notServedYet, func() (err error) {
		made, err = w.at(gvr, obj.GetNamespace()).Create(w.t.Context(), obj, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		w.t.Fatalf("create %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
	return made
}

// notServedYet tells whether the API server does not have the kind of an object, or is
// just taking it away.
func notServedYet(err error) bool {
	var status apierrors.APIStatus
	if apierrors.IsMethodNotSupported(err) {
		return true
	}
	return apierrors.IsNotFound(err) && errors.As(err, &status) &&
		(status.Status().Details == nil || status.Status().Details.Name == "")
}

// parent creates a custom object in the world's home.
func (w *world) parent(kind, name, spec string) *unstructured.Unstructured {
	w.t.Helper()
	obj := w.object(fmt.Sprintf("apiVersion: $GROUP/v1\nkind: %s\nmetadata: {name: %q, namespace: $HOME}\nspec: %s\n", kind, name, spec))
	return w.create(w.resource(kind), obj)
}

// patch merges a JSON patch text into an object as another manager would.
func (w *world) patch(gvr schema.GroupVersionResource, namespace, name, text string) {
	w.t.Helper()
	if err := w.merge(gvr, namespace, name, text); err != nil {
		w.t.Fatalf("patch %s %s: %v", gvr.Resource, name, err)
	}
}

// merge is patch where the caller sees to the error. The API server tries a patch that
// others get in the way of a few times, and then leaves that to its client.
func (w *world) merge(gvr schema.GroupVersionResource, namespace, name, text string, subresources ...string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		_, err := w.at(gvr, namespace).Patch(w.t.Context(), name, types.MergePatchType, []byte(w.expand(text)),
			metav1.PatchOptions{FieldManager: "somebody"}, subresources...)
		return err
	})
}

// update changes an object as it is now, and its status where that is asked for.
func (w *world) update(gvr schema.GroupVersionResource, namespace, name string, change func(live *unstructured.Unstructured), subresources ...string) {
	w.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // Kanon may be writing, too
		live := w.get(gvr, namespace, name)
		change(live)
		_, err := w.at(gvr, namespace).Update(w.t.Context(), live, metav1.UpdateOptions{FieldManager: "somebody"}, subresources...)
		return err
	})
	if err != nil {
		w.t.Fatalf("update %s %s: %v", gvr.Resource, name, err)
	}
}

func (w *world) delete(gvr schema.GroupVersionResource, namespace, name string) {
	w.t.Helper()
	if err := w.at(gvr, namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatalf("delete %s %s: %v", gvr.Resource, name, err)
	}
}

// deleteOrphaning deletes an object and has the garbage collector keep its dependents.
func (w *world) deleteOrphaning(gvr schema.GroupVersionResource, namespace, name string) {
	w.t.Helper()
	orphan := metav1.DeletePropagationOrphan
	if err := w.at(gvr, namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		w.t.Fatalf("delete %s %s, orphaning its dependents: %v", gvr.Resource, name, err)
	}
}

func (w *world) get(gvr schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	w.t.Helper()
	obj, err := w.at(gvr, namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatalf("get %s %s: %v", gvr.Resource, name, err)
	}
	return obj
}

// await watches one object until it holds, and returns it then. A condition on
// an object that is not there is not asked.
func (w *world) await(gvr schema.GroupVersionResource, namespace, name, what string, holds func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	w.t.Helper()
	return w.awaitAny(gvr, namespace, "metadata.name="+name, gvr.Resource+" "+name+" "+what, func(obj *unstructured.Unstructured) bool {
		return obj != nil && holds(obj)
	})
}

// awaitAllReady waits until each Note in the world's home is ready. It asks
// for them all together.
func (w *world) awaitAllReady() {
	w.t.Helper()
	for {
		list, err := w.at(w.resource("Note"), w.home).List(w.t.Context(), metav1.ListOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		next := slices.IndexFunc(list.Items, func(obj unstructured.Unstructured) bool { return !isTrue("Ready")(&obj) })
		if next < 0 {
			return
		}
		w.await(w.resource("Note"), w.home, list.Items[next].GetName(), "is ready", isTrue("Ready"))
	}
}

// awaitGone watches one object until it is not there.
func (w *world) awaitGone(gvr schema.GroupVersionResource, namespace, name string) {
	w.t.Helper()
	w.awaitAny(gvr, namespace, "metadata.name="+name, gvr.Resource+" "+name+" is gone", func(obj *unstructured.Unstructured) bool {
		return obj == nil
	})
}

// awaitAny watches the one object that a field selector selects; nil stands for
// its absence.
func (w *world) awaitAny(gvr schema.GroupVersionResource, namespace, fields, what string, holds func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var last *unstructured.Unstructured
	for ctx.Err() == nil {
		list, err := w.at(gvr, namespace).List(ctx, metav1.ListOptions{FieldSelector: fields})
		if err != nil {
			continue // a kind that is just being installed
		}
		last = nil
		if len(list.Items) > 0 {
			last = &list.Items[0]
		}
		if holds(last) {
			return last
		}
		if found, ok := w.follow(ctx, gvr, namespace, fields, list.GetResourceVersion(), &last, holds); ok {
			return found
		}
	}
	w.t.Fatalf("gave up waiting until %s; it is now:\n%s", what, w.describe(last))
	return nil
}

// describe returns an object for a message, with what decides about its end: its owners, and what the garbage collector said last.
func (w *world) describe(obj *unstructured.Unstructured) string {
	text, _ := yaml.Marshal(obj)
	if obj == nil || len(obj.GetOwnerReferences()) == 0 {
		return string(text)
	}
	for _, ref := range obj.GetOwnerReferences() {
		owner, err := w.at(w.resource(ref.Kind), obj.GetNamespace()).Get(w.t.Context(), ref.Name, metav1.GetOptions{})
		if err != nil {
			text = fmt.Appendf(text, "---\n# owner %s %s: %v\n", ref.Kind, ref.Name, err)
			continue
		}
		said, _ := yaml.Marshal(owner)
		text = fmt.Appendf(text, "---\n# owner\n%s", said)
	}
	return fmt.Sprintf("%s---\n# garbage collector\n%s", text, controlplanetest.Complaints(w.t, "garbage-collector", 20))
}

// follow watches from a resourceVersion until the state holds or the watch ends.
func (w *world) follow(ctx context.Context, gvr schema.GroupVersionResource, namespace, fields, version string, last **unstructured.Unstructured, holds func(*unstructured.Unstructured) bool) (*unstructured.Unstructured, bool) {
	watcher, err := w.at(gvr, namespace).Watch(ctx, metav1.ListOptions{FieldSelector: fields, ResourceVersion: version})
	if err != nil {
		return nil, false
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return nil, false
		}
		*last = obj
		if event.Type == watch.Deleted {
			*last = nil
		}
		if holds(*last) {
			return *last, true
		}
	}
	return nil, false
}

// awaitEvent waits for an Event with a reason about an object, by name.
func (w *world) awaitEvent(namespace, name, reason string) {
	w.t.Helper()
	w.awaitAny(events, namespace, "involvedObject.name="+name+",reason="+reason, "there is an Event "+reason+" about "+name,
		func(obj *unstructured.Unstructured) bool { return obj != nil })
}

// quiet checks that the engine comes to rest: once it has seen all that the API server has, it is idle, sends nothing for a
// while, and comes to no rule or informer. Where something is tried again before long, or the engine has to wait for an answer
// that a test holds back, that while is longer than the longest pause, RetryMax. It is for tests of engines that nothing keeps
// busy.
func (w *world) quiet() {
	w.t.Helper()
	const (
		window = 200 * time.Millisecond
		retry  = 3 * time.Second
	)
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		before := w.did()
		if err := w.watches.Await(ctx); err != nil {
			w.t.Errorf("the engine does not see what the API server has: %v", err)
			return
		}
		begin := time.Now()
		for idleSince := begin; w.did() == before; {
			if w.requests.open() > 0 || !w.engine.Idle() || w.reconciled.retriesBefore(retry) {
				idleSince = time.Now()
			}
			if time.Since(idleSince) >= window || time.Since(begin) >= retry {
				return
			}
			<-time.After(10 * time.Millisecond) // an idle engine does nothing that could be awaited
		}
	}
	w.t.Errorf("the engine never came to rest; its last requests: %q", w.requests.since(max(0, w.requests.count()-10)))
}

// deeds are what the engine has done so far that others can see.
type deeds struct{ requests, steps int }

func (w *world) did() deeds { return deeds{w.requests.count(), w.reconciled.progress()} }

// captureLog has the log of the engines that start from now on kept, and returns what reads it.
func (w *world) captureLog() (text func() string) {
	var mu sync.Mutex
	var logged strings.Builder
	w.sink = funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		logged.WriteString(line + "\n")
	}, funcr.Options{Verbosity: 4}).GetSink()
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return logged.String()
	}
}

// exists holds for any object.
func exists(*unstructured.Unstructured) bool { return true }

// field reads one field; nil when it is not there.
func field(obj *unstructured.Unstructured, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
	return value
}

// has makes a condition for await: a field has a value.
func has(value any, path ...string) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool { return field(obj, path...) == value }
}

// conditionStatus is the status of a condition, empty when it is not there.
func conditionStatus(obj *unstructured.Unstructured, conditionType string) string {
	return conditionField(obj, conditionType, "status")
}

func conditionField(obj *unstructured.Unstructured, conditionType, name string) string {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range conditions {
		if c, ok := item.(map[string]any); ok && c["type"] == conditionType {
			text, _ := c[name].(string)
			return text
		}
	}
	return ""
}

// isTrue makes a condition for await: a status condition is True.
func isTrue(conditionType string) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool { return conditionStatus(obj, conditionType) == "True" }
}

// ---- requests ----

// requestLog records the requests of an engine, save for watches and discovery:
// the kinds that other tests install are discovered by all engines.
type requestLog struct {
	mu      sync.Mutex
	entries []string // VERB PATH
	// all has everything, with its times.
	all []timedRequest
	// unanswered is how many of entries are.
	unanswered int
}

type timedRequest struct {
	at   time.Time
	text string
	// user is whom it was sent for; empty: Kanon itself.
	user string
}

type roundTripper = kanontest.RoundTripper

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		l.mu.Lock()
		l.all = append(l.all, timedRequest{at: time.Now(), text: r.Method + " " + r.URL.Path, user: r.Header.Get(transport.ImpersonateUserHeader)})
		if r.URL.Query().Get("watch") == "" && r.URL.Path != "/api" && r.URL.Path != "/apis" {
			l.entries = append(l.entries, r.Method+" "+r.URL.Path)
			l.unanswered++
			defer l.answered()
		}
		l.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// since returns the requests after the first n.
func (l *requestLog) since(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries[n:])
}

// allSince returns every request after a time, watches and discovery too.
func (l *requestLog) allSince(from time.Time) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var texts []string
	for _, r := range l.all {
		if r.at.After(from) {
			texts = append(texts, r.text)
		}
	}
	return texts
}

func (l *requestLog) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unanswered--
}

// open is how many requests have no answer.
func (l *requestLog) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unanswered
}

func (l *requestLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}
