package restmapping_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/restmapping"
)

// groups is an API server that has discovery and nothing else, because a real one
// cannot be made to fail at will. Each group has version v1 and one kind, Item.
type groups struct {
	aggregated bool // whether it serves aggregated discovery

	mu      sync.Mutex
	served  []string // guarded by mu
	failing []string // of served; guarded by mu
	down    bool     // guarded by mu
}

func (g *groups) set(down bool, failing ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down, g.failing = down, failing
}

func (g *groups) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	group, version, of := strings.Cut(strings.TrimPrefix(r.URL.Path, "/apis/"), "/")
	switch {
	case g.down:
		http.Error(w, "down", http.StatusInternalServerError)
	case r.URL.Path == "/api" && g.aggregated:
		g.write(w, apidiscovery.APIGroupDiscoveryList{})
	case r.URL.Path == "/apis" && g.aggregated:
		g.write(w, g.aggregate())
	case r.URL.Path == "/apis":
		g.write(w, g.list())
	case of && version == "v1" && slices.Contains(g.served, group) && !slices.Contains(g.failing, group):
		g.write(w, metav1.APIResourceList{
			GroupVersion: group + "/v1",
			APIResources: []metav1.APIResource{{Name: "items", Kind: "Item", Verbs: metav1.Verbs{"list", "watch"}}},
		})
	case of && slices.Contains(g.failing, group):
		http.Error(w, "failing", http.StatusServiceUnavailable)
	default:
		http.NotFound(w, r)
	}
}

func (g *groups) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", discovery.AcceptV1)
	if g.aggregated {
		w.Header().Set("Content-Type", discovery.AcceptV2)
	}
	_ = json.NewEncoder(w).Encode(v)
}

func (g *groups) aggregate() apidiscovery.APIGroupDiscoveryList {
	var list apidiscovery.APIGroupDiscoveryList
	for _, name := range g.served {
		version := apidiscovery.APIVersionDiscovery{Version: "v1", Freshness: apidiscovery.DiscoveryFreshnessCurrent}
		if slices.Contains(g.failing, name) {
			version.Freshness = apidiscovery.DiscoveryFreshnessStale
		} else {
			version.Resources = []apidiscovery.APIResourceDiscovery{{
				Resource:     "items",
				ResponseKind: &metav1.GroupVersionKind{Group: name, Version: "v1", Kind: "Item"},
				Scope:        apidiscovery.ScopeCluster,
				Verbs:        []string{"list", "watch"},
			}}
		}
		list.Items = append(list.Items, apidiscovery.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Versions:   []apidiscovery.APIVersionDiscovery{version},
		})
	}
	return list
}

func (g *groups) list() metav1.APIGroupList {
	var list metav1.APIGroupList
	for _, name := range g.served {
		version := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
		list.Groups = append(list.Groups, metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{version}})
	}
	return list
}

func (g *groups) start(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, QPS: -1}
}

func item(group string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Item"}
}

// TestFailureKeepsWhatIsKnown holds that a discovery that fails, in part or as a
// whole, is never taken for kinds that are gone.
func TestFailureKeepsWhatIsKnown(t *testing.T) {
	for name, aggregated := range map[string]bool{"aggregated": true, "group by group": false} {
		t.Run(name, func(t *testing.T) {
			server := &groups{aggregated: aggregated, served: []string{"a", "b"}}
			mapper, err := restmapping.New(restmapping.Options{Config: server.start(t), MinRefreshInterval: time.Nanosecond})
			if err != nil {
				t.Fatal(err)
			}
			look := func(step string, kind schema.GroupVersionKind, want error) {
				t.Helper()
				if _, err := mapper.Kind(t.Context(), kind); !errors.Is(err, want) {
					t.Errorf("%s: looking up %s: error %v, want %v", step, kind, err, want)
				}
			}
			other := item("b").GroupVersion().WithKind("Other")

			server.set(true)
			look("down from the start", item("a"), restmapping.ErrUnavailable)
			server.set(false, "b")
			look("b fails from the start", item("a"), nil)
			look("b fails from the start", item("b"), restmapping.ErrUnavailable)
			server.set(false)
			look("b is back", item("b"), nil)
			look("b is back", other, restmapping.ErrUnknownKind)

			server.set(false, "b")
			look("b fails again", other, restmapping.ErrUnavailable) // asks
			look("b fails again", item("b"), nil)
			look("b fails again", item("c"), restmapping.ErrUnknownKind)
			server.set(true)
			look("down again", other, restmapping.ErrUnavailable)
			look("down again", item("a"), nil)
			look("down again", item("b"), nil)
			server.set(false)
			look("all is well", other, restmapping.ErrUnknownKind)
		})
	}
}

// TestRunRecovers holds that Run gets over failures that no event ends: of the
// first discovery, and of a group.
func TestRunRecovers(t *testing.T) {
	verifyNoLeaks(t)
	server := &groups{aggregated: true, served: []string{"a", "b"}}
	server.set(true)
	mapper, err := restmapping.New(restmapping.Options{Config: server.start(t)})
	if err != nil {
		t.Fatal(err)
	}
	changes := subscribe(t, mapper)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- mapper.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})

	poll(t, "the first discovery to fail", func() bool {
		_, err := mapper.Kind(t.Context(), item("a"))
		return errors.Is(err, restmapping.ErrUnavailable)
	})
	select {
	case <-mapper.Synced():
		t.Error("synced without a discovery")
	default:
	}
	server.set(false, "b")
	<-mapper.Synced()
	added := map[schema.GroupVersionKind]bool{}
	collect := func(what string, kind schema.GroupVersionKind) {
		changes.waitFor(t, time.Now().Add(patience), what, func(c restmapping.Change) bool {
			if len(c.Removed)+len(c.Changed) > 0 {
				t.Errorf("%s: unexpected %+v", what, c)
			}
			for _, k := range c.Added {
				added[k] = true
			}
			return added[kind]
		})
	}
	collect("the first kinds", item("a"))
	if added[item("b")] {
		t.Error("the failing group's kind is told as there")
	}
	server.set(false)
	collect("the failed group", item("b"))
}

func TestOptions(t *testing.T) {
	tests := map[string]struct {
		options restmapping.Options
		ok      bool
	}{
		"only what is required": {options: restmapping.Options{Config: &rest.Config{}}, ok: true},
		"no config":             {options: restmapping.Options{}},
		"negative interval":     {options: restmapping.Options{Config: &rest.Config{}, MinRefreshInterval: -1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := restmapping.New(tc.options); (err == nil) != tc.ok {
				t.Errorf("error %v, want one: %t", err, !tc.ok)
			}
		})
	}
}
