package restmapping_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/restmapping"
)

func TestBuiltInKinds(t *testing.T) {
	cfg, sent := record(controlplanetest.Config(t))
	mapper := run(t, cfg)

	tests := map[string]struct {
		gvk  schema.GroupVersionKind
		want restmapping.Kind
	}{
		"namespaced with status and scale": {
			gvk: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			want: restmapping.Kind{
				GVR:          schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
				Namespaced:   true,
				HasStatus:    true,
				Subresources: sets.New("scale", "status"),
			},
		},
		"namespaced without status": {
			gvk: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
			want: restmapping.Kind{
				GVR:        schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
				Namespaced: true,
			},
		},
		"cluster-scoped": {
			gvk: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
			want: restmapping.Kind{
				GVR:          schema.GroupVersionResource{Version: "v1", Resource: "namespaces"},
				HasStatus:    true,
				Subresources: sets.New("finalize", "status"),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := mapper.Lookup(tc.gvk)
			if !ok {
				t.Fatalf("%s is not known", tc.gvk)
			}
			if !got.Verbs.HasAll("create", "delete", "get", "list", "patch", "update", "watch") {
				t.Errorf("verbs of %s are %v", tc.gvk, sets.List(got.Verbs))
			}
			got.Verbs, tc.want.GVK = nil, tc.gvk
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("wrong kind (-want +got):\n%s", diff)
			}
		})
	}
	// Kinds that other tests leave behind go away meanwhile, so there may be several.
	if core, named := sent.count("/api"), sent.count("/apis"); core == 0 || core != named {
		t.Errorf("discovery took %d and %d requests, want as many of each", core, named)
	}
	if n := sent.countBelow("/apis/"); n > 0 {
		t.Errorf("discovery took %d requests for single groups", n)
	}
}

// TestDefinitionsComeChangeAndGo holds that subscribers hear within a second of
// everything that happens to a kind, and that lookups agree by then.
func TestDefinitionsComeChangeAndGo(t *testing.T) {
	cfg := controlplanetest.Config(t)
	mapper := run(t, cfg)
	defs := newDefinitions(t, cfg)
	changes := subscribe(t, mapper)

	crd := defs.crd("Thing")
	v1, v2 := gvk(crd, "v1"), gvk(crd, "v2")

	since := defs.create(t, crd)
	changes.wait(t, since, "added", v1)
	kind, _ := mapper.Lookup(v1)
	if !kind.Namespaced || kind.HasStatus || kind.Definition.UID == "" {
		t.Errorf("new kind is %+v", kind)
	}
	first := kind.Definition

	since = defs.update(t, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) {
		schema := c.Spec.Versions[0].Schema.OpenAPIV3Schema
		schema.Properties["size"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
	})
	changes.wait(t, since, "changed", v1) // its schema

	since = defs.update(t, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) {
		version := c.Spec.Versions[0]
		version.Name, version.Storage = "v2", false
		version.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
		c.Spec.Versions = append(c.Spec.Versions, version)
	})
	changes.wait(t, since, "added", v2)
	if kind, _ := mapper.Lookup(v2); !kind.HasStatus {
		t.Error("v2 is known without its status subresource")
	}

	since = defs.update(t, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Spec.Versions[1].Served = false
	})
	changes.wait(t, since, "removed", v2)

	since = defs.delete(t, crd.Name)
	changes.wait(t, since, "removed", v1)
	if _, ok := mapper.Lookup(v1); ok {
		t.Error("the kind is still known")
	}

	since = defs.create(t, crd)
	changes.wait(t, since, "added", v1)
	if kind, _ := mapper.Lookup(v1); kind.Definition.UID == first.UID {
		t.Error("the kind's definition is still the old one")
	}
}

// TestReplacedDefinition holds that a definition that is deleted and recreated
// is noticed, however fast it was, and that its new scope is known.
func TestReplacedDefinition(t *testing.T) {
	cfg := controlplanetest.Config(t)
	mapper := run(t, cfg)
	defs := newDefinitions(t, cfg)
	changes := subscribe(t, mapper)

	crd := defs.crd("Swap")
	kind := gvk(crd, "v1")
	changes.wait(t, defs.create(t, crd), "added", kind)
	before, _ := mapper.Lookup(kind)

	defs.delete(t, crd.Name)
	crd.Spec.Scope = apiextensionsv1.ClusterScoped
	since := defs.create(t, crd)
	// Whether the time without the kind was seen depends on how fast it was.
	changes.waitFor(t, since, "the new definition", func(restmapping.Change) bool {
		now, ok := mapper.Lookup(kind)
		return ok && !now.Namespaced && now.Definition.UID != before.Definition.UID
	})
}

// TestManyDefinitions holds that definitions that come one after the other share
// discoveries.
func TestManyDefinitions(t *testing.T) {
	cfg, sent := record(controlplanetest.Config(t))
	mapper := run(t, cfg)
	defs := newDefinitions(t, controlplanetest.Config(t))
	changes := subscribe(t, mapper)

	began, before := time.Now(), sent.count("/apis")
	var wanted []schema.GroupVersionKind
	for i := range 20 {
		crd := defs.crd(fmt.Sprintf("Many%d", i))
		wanted = append(wanted, gvk(crd, "v1"))
		defs.create(t, crd)
	}
	added := sets.New[schema.GroupVersionKind]()
	changes.waitFor(t, time.Now(), "20 new kinds", func(c restmapping.Change) bool {
		added.Insert(c.Added...)
		return added.HasAll(wanted...)
	})
	// Four a second, and a few where discovery lagged behind.
	limit := 4*int(time.Since(began)/time.Second) + 10
	if n := sent.count("/apis") - before; n > limit {
		t.Errorf("%d discoveries, want at most %d", n, limit)
	}
}

// TestMiss holds that a lookup of an unknown kind asks the API server, with and
// without Run, and that many of them together ask seldom.
func TestMiss(t *testing.T) {
	cfg, sent := record(controlplanetest.Config(t))
	defs := newDefinitions(t, cfg)
	mapper, err := restmapping.New(restmapping.Options{Config: cfg, MinRefreshInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	crd := defs.crd("Late")
	kind := gvk(crd, "v1")
	var unknown *restmapping.UnknownKindError
	if _, err := mapper.Kind(t.Context(), kind); !errors.Is(err, restmapping.ErrUnknownKind) || !errors.As(err, &unknown) {
		t.Errorf("before the definition: %v, want an UnknownKindError", err)
	} else if unknown.GVK != kind {
		t.Errorf("the error is about %s, want %s", unknown.GVK, kind)
	}
	defs.create(t, crd)
	defs.awaitDiscovery(t, kind)
	if _, err := mapper.Kind(t.Context(), kind); err != nil {
		t.Errorf("after the definition: %v", err)
	}

	before := sent.count("/apis")
	if _, err := mapper.Kind(t.Context(), kind); err != nil || sent.count("/apis") != before {
		t.Errorf("a known kind is not answered from memory (error %v)", err)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := mapper.Kind(t.Context(), kind.GroupVersion().WithKind("Nothing")); !errors.Is(err, restmapping.ErrUnknownKind) {
				t.Errorf("a kind that is not there: %v, want ErrUnknownKind", err)
			}
		})
	}
	wg.Wait()
	if n := sent.count("/apis") - before; n > 3 { // 5 at once, of which 2 were used
		t.Errorf("50 misses caused %d discoveries, want at most 3", n)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mapper.Kind(ctx, kind.GroupVersion().WithKind("Nothing")); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v, want context.Canceled", err)
	}
}

// TestSilentAtRest holds that no request is sent while nothing changes, nor for
// changes that do not concern kinds.
func TestSilentAtRest(t *testing.T) {
	// One of its own, because what other tests leave behind goes away later.
	nodes := 0
	plain := controlplanetest.Start(t, controlplanetest.Options{Controllers: []string{"namespace"}, Nodes: &nodes}).Config
	defs := newDefinitions(t, plain)
	crd := defs.crd("Quiet")
	defs.create(t, crd)
	defs.awaitDiscovery(t, gvk(crd, "v1"))

	cfg, sent := record(plain)
	run(t, cfg)
	if n := sent.openWatches(); n != 2 {
		t.Errorf("%d watches are open, want 2", n)
	}
	for quiet := false; !quiet; { // discovery may lag behind the definition, and is asked again then
		select {
		case <-sent.sent:
		case <-time.After(time.Second):
			quiet = true
		}
	}
	defs.update(t, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Labels = map[string]string{"a": "b"} // no new generation
	})
	select {
	case path := <-sent.sent:
		t.Errorf("a request for %s at rest", path)
	case <-time.After(3 * time.Second): // the absence of something takes time to see
	}
}

// TestUnavailableAPIServer holds that a group whose API server cannot be reached is
// neither unknown nor in the way of the others.
func TestUnavailableAPIServer(t *testing.T) {
	cfg := controlplanetest.Config(t)
	mapper := run(t, cfg)
	client := dynamic.NewForConfigOrDie(cfg).Resource(schema.GroupVersionResource{
		Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices",
	})
	gv := schema.GroupVersion{Group: "absent" + suffix(t.Name()) + ".example.com", Version: "v1"}
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1",
		"kind":       "APIService",
		"metadata":   map[string]any{"name": gv.Version + "." + gv.Group},
		"spec": map[string]any{
			"group": gv.Group, "version": gv.Version, "insecureSkipTLSVerify": true,
			"groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"service": map[string]any{"namespace": "default", "name": "absent"},
		},
	}}
	if _, err := client.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Delete(context.WithoutCancel(t.Context()), service.GetName(), metav1.DeleteOptions{})
	})

	kind := gv.WithKind("Anything")
	poll(t, "the group to be unavailable", func() bool {
		_, err := mapper.Kind(t.Context(), kind)
		return errors.Is(err, restmapping.ErrUnavailable)
	})
	if _, ok := mapper.Lookup(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}); !ok {
		t.Error("the other groups are lost")
	}

	if err := client.Delete(t.Context(), service.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	poll(t, "the group to be unknown", func() bool {
		_, err := mapper.Kind(t.Context(), kind)
		return errors.Is(err, restmapping.ErrUnknownKind)
	})
}

// TestSubscribersAreToldInTurn holds that calls do not overlap, may use the mapper
// and its subscriptions, and end with the subscription.
func TestSubscribersAreToldInTurn(t *testing.T) {
	cfg := controlplanetest.Config(t)
	mapper := run(t, cfg)
	defs := newDefinitions(t, cfg)

	var running, calls sync.Mutex
	order := []string{}
	note := func(name string) {
		if !running.TryLock() {
			t.Errorf("%s is called while another call runs", name)
			return
		}
		defer running.Unlock()
		calls.Lock()
		order = append(order, name)
		calls.Unlock()
	}
	var cancelFirst func()
	cancelFirst = mapper.Subscribe(func(restmapping.Change) {
		note("first")
		cancelFirst()
		_, _ = mapper.Kind(t.Context(), schema.GroupVersionKind{Group: "x", Version: "v1", Kind: "Nothing"})
	})
	t.Cleanup(mapper.Subscribe(func(restmapping.Change) { note("second") }))
	changes := subscribe(t, mapper)

	for _, name := range []string{"One", "Two"} {
		crd := defs.crd(name)
		changes.wait(t, defs.create(t, crd), "added", gvk(crd, "v1"))
	}
	calls.Lock()
	defer calls.Unlock()
	// Kinds that other tests leave behind go away meanwhile, of which all are told.
	if len(order) < 3 || order[0] != "first" || slices.Contains(order[1:], "first") {
		t.Errorf("calls came as %q, want \"first second second\"", order)
	}
}
