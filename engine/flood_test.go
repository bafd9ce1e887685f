package engine_test

import (
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/watch"
)

// childReads records how an engine reads single ConfigMaps, and what has the labels of a parent's children.
type childReads struct {
	mu sync.Mutex
	// whole has the requests that asked for content.
	whole []string
	// lists counts the requests for the first page of a list. more is how many requests for later pages are open now, and most
	// is how many there were at the same time. Of these, pages counts all.
	lists, more, most, pages int
	// unbounded counts the lists without a deadline.
	unbounded int
}

func (c *childReads) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		query, dir := r.URL.Query(), path.Base(path.Dir(r.URL.Path))
		isList := strings.Contains(query.Get("labelSelector"), mark.LabelParentUID)
		if r.Method != http.MethodGet || !isList && dir != "configmaps" {
			return next.RoundTrip(r)
		}
		if end := c.begin(r, isList, query.Get("continue") != ""); end != nil {
			defer end()
			<-time.After(50 * time.Millisecond) // so that others come meanwhile, if they may
		}
		return next.RoundTrip(r)
	})
}

// begin records a request, and returns the end of one for a later page.
func (c *childReads) begin(r *http.Request, isList, isContinued bool) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !strings.HasPrefix(r.Header.Get("Accept"), "application/json;as=PartialObjectMetadata") {
		c.whole = append(c.whole, r.URL.Path+"?"+r.URL.RawQuery)
	}
	if _, bounded := r.Context().Deadline(); isList && !bounded {
		c.unbounded++
	}
	if isList && !isContinued {
		c.lists++
	}
	if !isContinued {
		return nil
	}
	c.pages++
	c.more++
	c.most = max(c.most, c.more)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.more--
	}
}

// Whoever may write objects gives many of them the labels of the children of several parents, which are then deleted
// together. Their content is not read, and no two long lists of them are.
func TestFloodAtDeletion(t *testing.T) {
	t.Parallel()
	w, tenants := wideWorld(t)
	w.rule("wide", wideRule)
	reads := &childReads{}
	config := rest.CopyConfig(w.config)
	w.watches.Follow(config)
	config.Wrap(reads.wrap)
	client, err := watch.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w.run(func(o *engine.Options) { o.Client = client })
	names := []string{"red", "green", "blue"}
	for _, name := range names {
		team := w.team(name, tenants)
		w.forge(w.get(configMaps, tenants, name+"-far"), tenants, name, func(obj *unstructured.Unstructured) {
			if labels := obj.GetLabels(); labels[mark.LabelParentUID] != string(team.GetUID()) {
				t.Fatalf("a tracked child has the labels %v", labels)
			}
			obj.Object["data"] = map[string]any{"bulk": strings.Repeat("x", 1000)}
		})
	}
	w.quiet()
	for _, name := range names {
		w.delete(w.resource("Team"), w.home, name)
	}
	for _, name := range names {
		w.awaitGone(w.resource("Team"), w.home, name)
		w.awaitGone(configMaps, tenants, name+"-far")
		w.awaitGone(w.resource("Zone"), "", w.home+"-"+name)
		w.untouched(tenants, name)
	}
	reads.mu.Lock()
	defer reads.mu.Unlock()
	if len(reads.whole) > 0 {
		t.Errorf("content was asked for by %q", reads.whole)
	}
	if reads.lists < len(names) || reads.pages < len(names) {
		t.Errorf("there were %d lists with %d later pages", reads.lists, reads.pages)
	}
	if reads.unbounded > 0 {
		t.Errorf("%d lists have no deadline: an API that does not answer holds up other parents", reads.unbounded)
	}
	if reads.most > 1 {
		t.Errorf("%d later pages were read at the same time", reads.most)
	}
}

// targetLists records how an engine lists ConfigMaps.
type targetLists struct {
	mu sync.Mutex
	// whole has the lists that asked for content, and metadata counts the others.
	whole    []string
	metadata int
}

func (l *targetLists) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if query := r.URL.Query(); r.Method == http.MethodGet && path.Base(r.URL.Path) == "configmaps" && !query.Has("watch") && !query.Has("labelSelector") {
			l.mu.Lock()
			defer l.mu.Unlock()
			if strings.HasPrefix(r.Header.Get("Accept"), "application/json;as=PartialObjectMetadata") {
				l.metadata++
			} else {
				l.whole = append(l.whole, r.URL.String())
			}
		}
		return next.RoundTrip(r)
	})
}

// Whoever may write objects makes many large ones of a kind that a rule patches. Their content is not read when the patch is
// removed and its targets are looked for.
func TestFloodOfObjectsOfAPatchedKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	for _, name := range []string{"shared", "large"} {
		w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+", namespace: $HOME}\ndata: {mode: theirs, bulk: "+strings.Repeat("x", 1000)+"}\n"))
	}
	lists := &targetLists{}
	config := rest.CopyConfig(w.config)
	w.watches.Follow(config)
	config.Wrap(lists.wrap)
	client, err := watch.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w.rule("r", patchRule("- id: mode\n  target: {apiVersion: v1, kind: ConfigMap, name: shared}\n  template: {data: {mode: ours}}\n"))
	w.run(func(o *engine.Options) { o.Client = client })
	w.parent("Note", "one", "{}")
	w.await(configMaps, w.home, "shared", "is patched", has("ours", "data", "mode"))
	w.rule("r", patchRule("- id: label\n  target: {apiVersion: v1, kind: ConfigMap, name: shared}\n  template: {metadata: {labels: {x: \"true\"}}}\n"))
	w.await(configMaps, w.home, "shared", "is as it was", has("theirs", "data", "mode"))
	w.await(configMaps, w.home, "shared", "is labelled", label("x"))
	lists.mu.Lock()
	defer lists.mu.Unlock()
	if len(lists.whole) > 0 || lists.metadata == 0 {
		t.Errorf("%d lists without content, and content was asked for by %q", lists.metadata, lists.whole)
	}
}
