package lifecycletest_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/internal/kanontest"
)

// cluster is what all lanes share: the custom kinds, and a view of all objects
// that is kept by watches.
type cluster struct {
	config *rest.Config
	client dynamic.Interface
	group  string

	// mu guards what follows.
	mu      sync.Mutex
	objects map[string]map[identity]*unstructured.Unstructured // by the sequence's prefix
	// newest is the newest resourceVersion seen of each kind.
	newest map[string]int64
	// records has the records of rules that there are, by namespace and name.
	records map[types.NamespacedName]bool
	// verdicts has what the engines said of each text of rules.
	verdicts map[string]string
	// listeners are told that something changed, by the sequence's prefix.
	listeners map[string]chan struct{}
}

func newCluster(t *testing.T, config *rest.Config) *cluster {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		config: config, client: client, group: "t" + rand.String(8) + ".example.com",
		objects:   make(map[string]map[identity]*unstructured.Unstructured),
		newest:    make(map[string]int64),
		verdicts:  make(map[string]string),
		records:   make(map[types.NamespacedName]bool),
		listeners: make(map[string]chan struct{}),
	}
	c.define(t, item, "Namespaced")
	c.define(t, thing, "Namespaced")
	c.define(t, hub, "Cluster")
	c.define(t, beacon, "Cluster")
	c.observe(t)
	return c
}

func (c *cluster) gvr(kind string) schema.GroupVersionResource {
	resource := strings.ToLower(kind) + "s"
	switch kind {
	case configMap, secret, service, "Namespace":
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	default:
		return schema.GroupVersionResource{Group: c.group, Version: "v1", Resource: resource}
	}
}

func (c *cluster) at(kind, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return c.client.Resource(c.gvr(kind))
	}
	return c.client.Resource(c.gvr(kind)).Namespace(namespace)
}

// define installs a custom kind; parents have a status with conditions.
func (c *cluster) define(t *testing.T, kind, scope string) {
	t.Helper()
	definition := kanontest.Definition(t, c.group, kind, scope)
	if kind != item && kind != hub {
		versions, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions")
		version := versions.([]any)[0].(map[string]any)
		delete(version, "subresources")
		unstructured.RemoveNestedField(version, "schema", "openAPIV3Schema", "properties", "status")
	}
	definitions := c.client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := definitions.Delete(context.Background(), definition.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// observe watches all kinds until the end of the test.
func (c *cluster) observe(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.client, 0)
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	var synced []cache.InformerSynced
	for _, kind := range []string{configMap, secret, service, thing, beacon, item, hub} {
		informer := factory.ForResource(c.gvr(kind)).Informer()
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { c.seen(obj, true) },
			UpdateFunc: func(_, obj any) { c.seen(obj, true) },
			DeleteFunc: func(obj any) { c.seen(obj, false) },
		})
		if err != nil {
			t.Fatal(err)
		}
		synced = append(synced, registration.HasSynced)
	}
	factory.Start(ctx.Done())
	if limit, cancel := context.WithTimeout(ctx, *patience); !cache.WaitForCacheSync(limit.Done(), synced...) {
		cancel()
		t.Fatal("the watches did not start")
	} else {
		cancel()
	}
}

// seen takes in one event.
func (c *cluster) seen(event any, there bool) {
	if final, ok := event.(cache.DeletedFinalStateUnknown); ok {
		event = final.Obj
	}
	obj, ok := event.(*unstructured.Unstructured)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	version, _ := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	c.newest[obj.GetKind()] = max(c.newest[obj.GetKind()], version)
	if strings.HasPrefix(obj.GetName(), recordPrefix) {
		c.records[types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}] = there
		for _, listener := range c.listeners {
			notify(listener)
		}
		return
	}
	prefix, _, ok := strings.Cut(obj.GetName(), "-")
	if !ok {
		return
	}
	prefix += "-"
	listener, ours := c.listeners[prefix]
	if !ours {
		return
	}
	defer notify(listener)
	if obj.GetLabels()[source.LabelRules] != "" {
		c.verdicts[obj.GetName()] = obj.GetAnnotations()[source.AnnotationStatus]
		return
	}
	id := identity{obj.GetKind(), obj.GetNamespace(), obj.GetName()}
	if there {
		c.objects[prefix][id] = obj
	} else {
		delete(c.objects[prefix], id)
	}
}

func notify(listener chan struct{}) {
	select {
	case listener <- struct{}{}:
	default:
	}
}

// recordsOf has the names of the records in a namespace.
func (c *cluster) recordsOf(namespace string) map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := make(map[string]bool)
	for record, there := range c.records {
		if there && record.Namespace == namespace {
			found[record.Name] = true
		}
	}
	return found
}

// isPast tells whether an engine gave its verdict on a rule in a text.
func (c *cluster) isPast(text, rule string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(c.verdicts[text], strconv.Quote(rule))
}

// listen begins to keep what there is of a sequence.
func (c *cluster) listen(prefix string) (changed chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = make(chan struct{}, 1)
	c.listeners[prefix], c.objects[prefix] = changed, make(map[identity]*unstructured.Unstructured)
	return changed
}

// drop ends what listen began.
func (c *cluster) drop(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.listeners, prefix)
	delete(c.objects, prefix)
}

// view is what there is of a sequence; ok is false while the watches have not
// shown what the test itself wrote.
func (c *cluster) view(prefix string, w *writes) (objects map[identity]*unstructured.Unstructured, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for kind, version := range w.versions {
		if c.newest[kind] < version {
			return nil, false
		}
	}
	objects = make(map[identity]*unstructured.Unstructured, len(c.objects[prefix]))
	for id, obj := range c.objects[prefix] {
		if w.deleted[id] == obj.GetUID() && obj.GetDeletionTimestamp() == nil {
			return nil, false
		}
		objects[id] = obj
	}
	return objects, true
}

// writes are what a sequence wrote itself.
type writes struct {
	versions map[string]int64
	deleted  map[identity]types.UID
}

func newWrites() *writes {
	return &writes{versions: make(map[string]int64), deleted: make(map[identity]types.UID)}
}

func (w *writes) wrote(obj *unstructured.Unstructured) {
	version, _ := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	w.versions[obj.GetKind()] = max(w.versions[obj.GetKind()], version)
}
