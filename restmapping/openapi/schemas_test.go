package openapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
)

// server is an OpenAPI publisher with documents by index key.
type server struct {
	mu        sync.Mutex
	documents map[string]string
	failure   error
	// gate, when not nil, is received from before a document is answered.
	gate chan struct{}

	indexes, reads atomic.Int32
}

type schemasDocument struct {
	server *server
	key    string
	text   string
}

func (s *server) PathsWithContext(ctx context.Context) (map[string]openapi.GroupVersionWithContext, error) {
	s.indexes.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil {
		return nil, s.failure
	}
	paths := map[string]openapi.GroupVersionWithContext{}
	for key, text := range s.documents {
		paths[key] = schemasDocument{server: s, key: key, text: text}
	}
	return paths, ctx.Err()
}

func (s *server) publish(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.documents == nil {
		s.documents = map[string]string{}
	}
	s.documents[key] = text
}

func (s *server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
}

func (d schemasDocument) SchemaWithContext(ctx context.Context, _ string) ([]byte, error) {
	d.server.reads.Add(1)
	if d.server.gate != nil {
		select {
		case <-d.server.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return []byte(d.text), nil
}

// ServerRelativeURL holds the whole text for a hash.
func (d schemasDocument) ServerRelativeURL() string {
	return "/openapi/v3/" + d.key + "?hash=" + d.text
}

func gvk(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: kind}
}

const key = "apis/shop.example.com/v1"

// publishing returns a document with one kind and the properties of its status.
func publishing(kind, statusProperties string) string {
	return fmt.Sprintf(`{"components": {"schemas": {"com.example.shop.v1.%[1]s": {
		"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "shop.example.com", "version": "v1", "kind": "%[1]s"}],
		"properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "spec": {"type": "object"},
			"metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}%[2]s}}}}}`, kind, statusProperties)
}

func mustConvert(t *testing.T, s *Published, kind string) {
	t.Helper()
	if _, err := s.Converter(t.Context(), gvk(kind)); err != nil {
		t.Fatalf("Converter(%s): %v", kind, err)
	}
}

func TestConverterAnswersFromMemory(t *testing.T) {
	srv := &server{}
	srv.publish(publishing("App", ""))
	s := NewPublished(srv)
	for range 3 {
		mustConvert(t, s, "App")
	}
	if indexes, reads := srv.indexes.Load(), srv.reads.Load(); indexes != 1 || reads != 1 {
		t.Errorf("%d reads of the index and %d of the document, want 1 and 1", indexes, reads)
	}
}

func TestCallersAtTheSameTimeShareOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{gate: make(chan struct{})}
		srv.publish(publishing("App", ""))
		s := NewPublished(srv)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := s.Converter(t.Context(), gvk("App")); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(srv.gate)
		wg.Wait()
		if reads := srv.reads.Load(); reads != 1 {
			t.Errorf("%d reads, want 1", reads)
		}
	})
}

func TestAnotherCallersEndIsNotOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{gate: make(chan struct{})}
		srv.publish(publishing("App", ""))
		s := NewPublished(srv)
		leader, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := s.Converter(leader, gvk("App")); !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that went away got %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if _, err := s.Converter(t.Context(), gvk("App")); err != nil {
				t.Errorf("the caller that stayed got %v", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(srv.gate)
		wg.Wait()
	})
}

func TestAKindThatIsMissingMayStillBePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{}
		s := NewPublished(srv)
		_, err := s.Converter(t.Context(), gvk("App"))
		if err == nil || errors.Is(err, ErrNoSchema) {
			t.Fatalf("first asked: %v, want an error that is not ErrNoSchema", err)
		}
		srv.publish(publishing("App", ""))
		pass(recheckInterval)
		mustConvert(t, s, "App")

		// A second kind of a group-version that is known.
		if _, err = s.Converter(t.Context(), gvk("Late")); err == nil || errors.Is(err, ErrNoSchema) {
			t.Fatalf("second kind: %v, want an error that is not ErrNoSchema", err)
		}
		srv.publish(publishing("Late", ""))
		pass(recheckInterval)
		mustConvert(t, s, "Late")
	})
}

func TestAKindWithoutASchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{}
		s := NewPublished(srv)
		_, err := s.Converter(t.Context(), gvk("App"))
		if errors.Is(err, ErrNoSchema) {
			t.Fatal("nothing is known yet")
		}
		pass(settleTime)
		_, err = s.Converter(t.Context(), gvk("App"))
		var none interface{ NoSchema() bool }
		if !errors.Is(err, ErrNoSchema) || !errors.As(err, &none) || !none.NoSchema() {
			t.Fatalf("error = %v, want ErrNoSchema", err)
		}
		asked := srv.indexes.Load()
		for range 5 {
			if _, err := s.Converter(t.Context(), gvk("App")); !errors.Is(err, ErrNoSchema) {
				t.Fatal(err)
			}
		}
		if got := srv.indexes.Load(); got != asked {
			t.Errorf("%d further reads of the index at once", got-asked)
		}
		shape, err := s.Conditions(t.Context(), gvk("App"))
		if err != nil || shape != (ConditionsShape{}) {
			t.Errorf("Conditions = %+v, %v", shape, err)
		}
		srv.publish(publishing("App", ""))
		pass(MissingInterval)
		mustConvert(t, s, "App")
	})
}

// Between two tries that are far apart, the document may have been published: what was read before the time was over proves nothing.
func TestASchemaThatComesBetweenTwoTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{}
		s := NewPublished(srv)
		for range 2 {
			if _, err := s.Converter(t.Context(), gvk("App")); err == nil || errors.Is(err, ErrNoSchema) {
				t.Fatalf("error = %v, want one that is not ErrNoSchema", err)
			}
			pass(settleTime * 2 / 3)
		}
		srv.publish(publishing("App", ""))
		mustConvert(t, s, "App")
	})
}

func TestForgetLooksUntilTheChangeIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{}
		srv.publish(publishing("App", ""))
		s := NewPublished(srv)
		mustConvert(t, s, "App")
		s.Forget(gvk("").GroupVersion())
		mustConvert(t, s, "App") // the old document is still published
		if shape, err := s.Conditions(t.Context(), gvk("App")); err != nil || shape.HasStatus {
			t.Errorf("Conditions = %+v, %v; want the old schema", shape, err)
		}
		srv.publish(publishing("App", `, "status": {"type": "object"}`))
		pass(recheckInterval)
		shape, err := s.Conditions(t.Context(), gvk("App"))
		if err != nil || !shape.HasStatus {
			t.Errorf("Conditions = %+v, %v; want the new schema", shape, err)
		}
		if reads := srv.reads.Load(); reads != 2 {
			t.Errorf("%d reads of documents, want 2: one for each content", reads)
		}
		pass(settleTime)
		mustConvert(t, s, "App")
		asked := srv.indexes.Load()
		pass(time.Hour)
		mustConvert(t, s, "App")
		if got := srv.indexes.Load(); got != asked {
			t.Error("still looking long after the change")
		}
	})
}

func TestRecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{}
		srv.publish(publishing("App", ""))
		s := NewPublished(srv)
		mustConvert(t, s, "App")
		recheck := func(want bool, wantReads int32) {
			t.Helper()
			changed, err := s.Recheck(t.Context(), gvk("").GroupVersion())
			if err != nil || changed != want || srv.indexes.Load() != wantReads {
				t.Errorf("Recheck = %t, %v after %d reads; want %t after %d", changed, err, srv.indexes.Load(), want, wantReads)
			}
		}
		recheck(false, 1) // a moment ago is new enough
		pass(recheckInterval)
		recheck(false, 2)
		srv.publish(publishing("App", `, "status": {"type": "object"}`))
		pass(recheckInterval)
		recheck(true, 3)
	})
}

func TestAFailureIsNotNoSchema(t *testing.T) {
	failure := errors.New("connection refused")
	srv := &server{failure: failure}
	s := NewPublished(srv)
	_, err := s.Converter(t.Context(), gvk("App"))
	if !errors.Is(err, failure) || errors.Is(err, ErrNoSchema) {
		t.Fatalf("error = %v, want the failure", err)
	}
	srv.fail(nil)
	srv.publish(publishing("App", ""))
	mustConvert(t, s, "App")
	srv.publish("not JSON")
	s.Forget(gvk("").GroupVersion())
	if _, err := s.Converter(t.Context(), gvk("App")); err == nil || errors.Is(err, ErrNoSchema) {
		t.Errorf("error = %v, want one of decoding", err)
	}
}

func TestConditions(t *testing.T) {
	const item = `"items": {"type": "object", "properties": {"type": {"type": "string"}, "lang": {"type": "string"}}}`
	tests := map[string]struct {
		status string
		want   ConditionsShape
	}{
		"no status":      {"", ConditionsShape{}},
		"no conditions":  {`, "status": {"type": "object", "properties": {"a": {"type": "string"}}}`, ConditionsShape{HasStatus: true}},
		"a generation":   {`, "status": {"type": "object", "properties": {"observedGeneration": {"type": "integer"}}}`, ConditionsShape{HasStatus: true, HasGeneration: true}},
		"a text instead": {`, "status": {"type": "object", "properties": {"observedGeneration": {"type": "string"}}}`, ConditionsShape{HasStatus: true}},
		"anything goes":  {`, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}`, ConditionsShape{HasStatus: true}},
		"not a list":     {`, "status": {"type": "object", "properties": {"conditions": {"type": "string"}}}`, ConditionsShape{HasStatus: true}},
		"atomic":         {`, "status": {"type": "object", "properties": {"conditions": {"type": "array", ` + item + `}}}`, ConditionsShape{HasStatus: true, HasConditions: true}},
		"list map":       {`, "status": {"type": "object", "properties": {"conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], ` + item + `}}}`, ConditionsShape{HasStatus: true, HasConditions: true, ListMap: true}},
		"open items":     {`, "status": {"type": "object", "properties": {"conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"type": {"type": "string"}}}}}}`, ConditionsShape{HasStatus: true, HasConditions: true, ListMap: true, Fields: "status reason message observedGeneration lastTransitionTime"}},
		"other map keys": {`, "status": {"type": "object", "properties": {"conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type", "lang"], ` + item + `}}}`, ConditionsShape{HasStatus: true, HasConditions: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := &server{}
			srv.publish(publishing("App", tt.status))
			got, err := NewPublished(srv).Conditions(t.Context(), gvk("App"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// pass lets time go by in a synctest bubble.
func pass(d time.Duration) { <-time.After(d) }

// TestKind holds that Kind and Converter share one document, and that what changed is seen after Forget.
func TestKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &server{}
		srv.publish(publishing("App", ""))
		s := NewPublished(srv)
		mustConvert(t, s, "App")
		before, err := s.Kind(t.Context(), gvk("App"))
		if err != nil || before.Fields["spec"] == nil || before.Fields["status"] != nil {
			t.Fatalf("Kind = %+v, %v", before, err)
		}
		if reads := srv.reads.Load(); reads != 1 {
			t.Errorf("%d reads of the document, want 1", reads)
		}
		srv.publish(publishing("App", `, "status": {"type": "object"}`))
		if now, err := s.Kind(t.Context(), gvk("App")); err != nil || now != before {
			t.Errorf("without Forget: %v, another schema: %t", err, now != before)
		}
		s.Forget(gvk("App").GroupVersion())
		if !s.Settling(gvk("App").GroupVersion()) {
			t.Error("it is not settling after Forget")
		}
		after, err := s.Kind(t.Context(), gvk("App"))
		if err != nil || after.Fields["status"] == nil {
			t.Errorf("after Forget: %+v, %v", after, err)
		}
		pass(settleTime)
		if s.Settling(gvk("App").GroupVersion()) {
			t.Error("it is settling for ever")
		}
	})
}

// TestKindThatIsNoObject holds that a kind whose document has no objects is one without a schema.
func TestKindThatIsNoObject(t *testing.T) {
	srv := &server{}
	srv.publish(strings.ReplaceAll(publishing("App", ""), "metadata", "other"))
	s := NewPublished(srv)
	if _, err := s.Kind(t.Context(), gvk("App")); !errors.Is(err, ErrNoSchema) {
		t.Errorf("error = %v, want ErrNoSchema", err)
	}
}
