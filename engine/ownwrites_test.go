package engine_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/watch"
)

// prunedRule makes a child that can be pruned, and reads it, so that it is noted who
// writes to it.
const prunedRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: pruned}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  pruneLimit: 10
  children:
  - id: config
    when: ${parent.spec.wanted}
    deletionPolicy: $POLICY
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
  status: {made: "${string(observed.config != null)}"}
`

// Only what was deleted is remembered as deleted: not an orphan, and not a child that
// the API server did not let go. Later changes of these are somebody else's.
func TestOnlyWhatWasDeletedCountsAsDeleted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		policy string
		refuse bool
		pruned func(w *world)
		want   bool
	}{
		"deleted": {policy: "Delete", want: true, pruned: func(w *world) {
			w.awaitGone(configMaps, w.home, "x")
			w.await(w.resource("Note"), w.home, "x", "has followed", has("false", "status", "made"))
		}},
		"orphaned": {policy: "Orphan", pruned: func(w *world) {
			w.await(configMaps, w.home, "x", "is an orphan", func(obj *unstructured.Unstructured) bool { return len(obj.GetOwnerReferences()) == 0 })
			w.await(w.resource("Note"), w.home, "x", "has followed", has("false", "status", "made"))
		}},
		"refused": {policy: "Delete", refuse: true, pruned: func(w *world) {
			w.await(w.resource("Note"), w.home, "x", "is not ready", func(obj *unstructured.Unstructured) bool { return conditionStatus(obj, "Ready") == "False" })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Note")
			w.rule("pruned", strings.ReplaceAll(prunedRule, "$POLICY", test.policy))
			var refused atomic.Bool
			refused.Store(test.refuse)
			w.run(func(o *engine.Options) { o.Client = w.clientThatRefusesToDelete(&refused) })
			w.parent("Note", "x", "{wanted: true}")
			uid := w.await(configMaps, w.home, "x", "is made", exists).GetUID()
			w.await(w.resource("Note"), w.home, "x", "is ready", isTrue("Ready"))
			w.patch(w.resource("Note"), w.home, "x", `{"spec":{"wanted":false}}`)
			test.pruned(w)
			if got := w.engine.NotesDeletion(uid); got != test.want {
				t.Errorf("it counts as deleted: %t, want %t", got, test.want)
			}
		})
	}
}

// TestEventBeforeTheAnswer holds that a child's event that comes before the answer of the write that made it enqueues
// nothing, and that a change by somebody else at that time is not lost.
func TestEventBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile string // what somebody else sets before the answer
		looks     int
	}{
		"own write":         {looks: 1},
		"and another write": {meanwhile: `{"data":{"text":"wrong again"}}`, looks: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Note")
			w.rule("note", note(`"${parent.spec.text}"`))
			var late atomic.Int64
			config := w.clientConfig()
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					answer, err := next.RoundTrip(r)
					if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/configmaps/x") && late.Add(1) == 1 {
						if test.meanwhile != "" {
							w.patch(configMaps, w.home, "x", test.meanwhile)
						}
						<-time.After(time.Second) // time for the events; if they come later, this tests nothing
					}
					return answer, err
				})
			})
			client, err := watch.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			w.run(func(o *engine.Options) { o.Client = client })
			w.parent("Note", "x", "{text: right}")
			w.await(w.resource("Note"), w.home, "x", "is ready", isTrue("Ready"))
			w.quiet()
			before := w.looks("x")
			w.patch(configMaps, w.home, "x", `{"data":{"text":"wrong"}}`)
			for deadline := time.Now().Add(patience); w.looks("x") == before; {
				if time.Now().After(deadline) {
					t.Fatal("the change of the child leads to no reconcile")
				}
				<-time.After(50 * time.Millisecond) // the count is nowhere to be watched
			}
			w.quiet()
			w.await(configMaps, w.home, "x", "is right again", has("right", "data", "text"))
			if looks := w.looks("x") - before; looks != test.looks {
				t.Errorf("it was reconciled %d times, want %d", looks, test.looks)
			}
			if late.Load() == 0 {
				t.Error("the child was not written by a PUT, so no answer was late")
			}
		})
	}
}

// reportingRule makes a child with $TEXT, and a status with $STATUS.
const reportingRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: reporting}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {text: "$TEXT"}
  status: {text: "$STATUS"}
`

// TestReconcilesOfAReport holds that a write of the status is followed by another reconcile only if the rule may depend
// on it, if something else has changed too, or if it did not come out as it was meant, whether its event comes before the
// API server's answer or after it.
func TestReconcilesOfAReport(t *testing.T) {
	t.Parallel()
	const spec = "${parent.spec.text}"
	for name, test := range map[string]struct {
		text, status string
		// late has the event come before the answer. meanwhile is what somebody else sets on the parent before the
		// answer. changed has the first status come out as another one.
		late, changed bool
		meanwhile     string
		looks         int
	}{
		"it reads only the spec":             {text: spec, status: spec, looks: 1},
		"the event comes before the answer":  {text: spec, status: spec, late: true, looks: 1},
		"it reads the status":                {text: spec, status: "${string(has(parent.status.text))}", looks: 3},
		"it reads the version":               {text: "${parent.metadata.resourceVersion}", status: spec, looks: 2},
		"the status comes out as another":    {text: spec, status: spec, changed: true, looks: 2},
		"and somebody else changes the spec": {text: spec, status: spec, meanwhile: `{"spec":{"text":"new"}}`, late: true, looks: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Note")
			w.rule("reporting", strings.NewReplacer("$TEXT", test.text, "$STATUS", test.status).Replace(reportingRule))
			var reports atomic.Int64
			config := w.clientConfig()
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					first := strings.HasSuffix(r.URL.Path, "/notes/x/status") && reports.Add(1) == 1
					if first && test.changed {
						r = withBody(t, r, func(body string) string { return strings.Replace(body, `"text":"old"`, `"text":"other"`, 1) })
					}
					answer, err := next.RoundTrip(r)
					if first && test.meanwhile != "" {
						w.patch(w.resource("Note"), w.home, "x", test.meanwhile)
					}
					if first && test.late {
						<-time.After(time.Second) // time for the events; if they come later, this tests nothing
					}
					return answer, err
				})
			})
			client, err := watch.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			w.run(func(o *engine.Options) { o.Client = client })
			w.verdict("reporting", `"ready":true`)
			w.quiet() // all informers of the rule have begun
			w.parent("Note", "x", "{text: old}")
			w.await(w.resource("Note"), w.home, "x", "is ready", isTrue("Ready"))
			w.quiet()
			if looks := w.looks("x"); looks != test.looks {
				t.Errorf("it was reconciled %d times, want %d", looks, test.looks)
			}
			parent, child := w.get(w.resource("Note"), w.home, "x"), w.get(configMaps, w.home, "x")
			want := strings.NewReplacer(spec, field(parent, "spec", "text").(string), //nolint:forcetypeassert // It is a text.
				"${string(has(parent.status.text))}", "true", "${parent.metadata.resourceVersion}", parent.GetResourceVersion())
			if got := field(child, "data", "text"); got != want.Replace(test.text) {
				t.Errorf("the child has %v, want %s", got, want.Replace(test.text))
			}
			if got := field(parent, "status", "text"); got != want.Replace(test.status) {
				t.Errorf("the status has %v, want %s", got, want.Replace(test.status))
			}
		})
	}
}

// withBody is a request with another body.
func withBody(t *testing.T, r *http.Request, change func(body string) string) *http.Request {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	text := change(string(body))
	r = r.Clone(r.Context())
	r.Body, r.ContentLength, r.GetBody = io.NopCloser(strings.NewReader(text)), int64(len(text)), nil
	return r
}

// clientThatRefusesToDelete is a client of the engine's whose deletions the API server
// forbids while refused is true.
func (w *world) clientThatRefusesToDelete(refused *atomic.Bool) *watch.Client {
	w.t.Helper()
	config := w.clientConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodDelete && refused.Load() {
				r = r.Clone(r.Context())
				r.Header.Set("Impersonate-User", "nobody-of-rights")
			}
			return next.RoundTrip(r)
		})
	})
	client, err := watch.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}
