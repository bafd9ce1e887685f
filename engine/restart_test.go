package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/internal/controlplanetest"
)

// Of two rules with one name the one that was there first keeps it over a
// restart, and with it its children.
func TestRestartKeepsTheHolderOfAName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("b-first", note("first"))
	stop := w.run()
	w.verdict("b-first", `"ready":true`)
	w.parent("Note", "n", "{}")
	made := w.await(configMaps, w.home, "n", "is made", has("first", "data", "text"))
	// creationTimestamps are whole seconds
	for !time.Now().Truncate(time.Second).After(w.get(configMaps, w.kanon, "b-first").GetCreationTimestamp().Time) {
		<-time.After(50 * time.Millisecond)
	}
	w.rule("a-second", strings.ReplaceAll(note("second"), `"${parent.metadata.name}"`, `"${parent.metadata.name}-second"`))
	w.verdict("a-second", "a rule's name must be unique")
	stop()
	w.run()
	w.parent("Note", "m", "{}")
	w.await(w.resource("Note"), w.home, "m", "is ready", isTrue("Ready"))
	if config := w.get(configMaps, w.home, "n"); config.GetUID() != made.GetUID() {
		t.Error("the child was created again")
	}
	w.get(configMaps, w.home, "m")
}

// A stalled parent is told of once, also over a restart and with a prefix.
func TestStalledIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", strings.ReplaceAll(note(`"${parent.spec.text}"`), "spec:\n", "spec:\n  conditionPrefix: Web\n"))
	stop := w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("WebStalled"))
	w.awaitEvent(w.home, "n", "EvaluationFailed")
	stop()
	from := w.requests.count()
	w.run()
	w.verdict("note", `"ready":true`)
	w.parent("Note", "m", "{}")
	w.awaitEvent(w.home, "m", "EvaluationFailed")
	w.quiet()
	events := 0
	for _, request := range w.requests.since(from) {
		if strings.HasSuffix(request, "/namespaces/"+w.home+"/events") || strings.Contains(request, "/events/n.") {
			events++
		}
	}
	if events != 1 {
		t.Errorf("%d Events after the restart, want the one about the new parent", events)
	}
}

// Children that an orphaning deletion left behind are the business of a parent
// that is made again under the same name: it does not wait for an end of theirs
// that never comes.
func TestParentMadeAgainAfterOrphaning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x"))
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	w.deleteOrphaning(w.resource("Note"), w.home, "n")
	w.awaitGone(w.resource("Note"), w.home, "n")
	again := w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))
	owner, _ := mark.ReadOwner(w.get(configMaps, w.home, "n"))
	if owner.Parent.UID != again.GetUID() {
		t.Errorf("the child's owner is %v", owner.Parent)
	}
}

// requestsAtHome are the requests after the first n that concern the world's
// home: kinds that other tests install are discovered by all engines.
func (w *world) requestsAtHome(n int) []string {
	return slices.DeleteFunc(w.requests.since(n), func(r string) bool { return !strings.Contains(r, "/"+w.home+"/") })
}

// during lets time pass, and returns what the engine sent meanwhile about the world's
// home, and how often at the most something can have come round that comes back after a
// pause: more often where the machine took longer.
func (w *world) during(span, pause time.Duration) (sent []string, times int) {
	w.t.Helper()
	from, begin := w.requests.count(), time.Now()
	<-time.After(span)
	sent = w.requestsAtHome(from)
	return sent, 1 + int(time.Since(begin)/pause)
}

// A prune sends one request for each child and one for the status. The event of the status may come before that of the
// deletion: two watches have no order, and the child's deletion is then asked for once more, of that very object.
func TestRequestsOfAPrune(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	w.run()
	w.parent("Box", "red", "{color: red}")
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	from := w.requests.count()
	w.patch(w.resource("Box"), w.home, "red", `{"spec":{"served":false}}`)
	w.awaitGone(services, w.home, "red")
	w.await(w.resource("Box"), w.home, "red", "has no address", func(obj *unstructured.Unstructured) bool {
		return field(obj, "status", "address") == nil
	})
	w.quiet()
	got := w.requestsAtHome(from)
	if kinds := slices.Compact(slices.Sorted(slices.Values(got))); len(got) > 3 || len(kinds) != 2 || !strings.HasPrefix(kinds[0], "DELETE ") {
		t.Errorf("%d requests, want a deletion and a status: %q", len(got), got)
	}
}

// A parent that is deleted and was selected by its labels may have left the view
// only: each of its children asks once at the most, and nothing is written.
func TestRequestsOfADeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", strings.ReplaceAll(boxRule, "kind: Box}", "kind: Box, selector: {matchLabels: {use: 'yes'}}}"))
	// A child whose end is told before that of its parent is created again: two watches have no order.
	w.config = rest.CopyConfig(w.config)
	for _, children := range []string{configMaps.Resource, services.Resource} {
		delayWatchesOf(w.config, children, time.Second)
	}
	w.run()
	w.create(w.resource("Box"), w.object("apiVersion: $GROUP/v1\nkind: Box\nmetadata: {name: red, namespace: $HOME, labels: {use: 'yes'}}\nspec: {color: red}\n"))
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	w.quiet() // what is told late of what was written would ask, too
	from := w.requests.count()
	w.delete(w.resource("Box"), w.home, "red")
	w.awaitGone(services, w.home, "red")
	w.awaitGone(configMaps, w.home, "red-config")
	w.quiet()
	if got := w.requestsAtHome(from); len(got) > 2 || slices.ContainsFunc(got, func(r string) bool { return !strings.HasPrefix(r, "GET ") }) {
		t.Errorf("%d requests, want one look at the parent for each child at the most: %q", len(got), got)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	stop := w.run()
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, name := range names {
		w.parent("Box", name, "{color: red}")
	}
	// In the middle: some have children, hardly all are ready.
	w.await(configMaps, w.home, "a-config", "is made", exists)
	stop()
	// While it is away: a change, a drift and a deletion.
	w.patch(w.resource("Box"), w.home, "b", `{"spec":{"color":"blue"}}`)
	w.patch(configMaps, w.home, "a-config", `{"data":{"color":"grey"}}`)
	w.delete(w.resource("Box"), w.home, "c")
	w.run()
	for _, name := range names {
		if name != "c" {
			w.await(w.resource("Box"), w.home, name, "is ready", isTrue("Ready"))
		}
	}
	w.await(configMaps, w.home, "b-config", "is blue", has("blue", "data", "color"))
	w.await(configMaps, w.home, "a-config", "is red again", has("red", "data", "color"))
	w.awaitGone(configMaps, w.home, "c-config")
}

// At rest Kanon sends nothing, and after a restart with everything in place it
// writes nothing: the API server's own audit log says so.
func TestRestsAndRestartsInSilence(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	plane := controlplanetest.Start(t, controlplanetest.Options{AuditLog: log})
	plane.Config.UserAgent = "a test"
	w := newWorldOn(t, plane.Config, "Box")
	w.config.UserAgent = "kanon under test"
	w.rule("box", boxRule)
	stop := w.run()
	for _, name := range []string{"a", "b", "c"} {
		w.parent("Box", name, "{color: red}")
		w.await(w.resource("Box"), w.home, name, "is ready", isTrue("Ready"))
	}
	w.quiet()
	from := time.Now()
	<-time.After(5 * time.Second)
	if at := auditedRequests(t, log, "kanon under test", from); len(at) > 0 {
		t.Errorf("at rest, in 5 s: %q", at)
	}

	stop()
	from = time.Now()
	w.run()
	w.awaitLook("a")
	w.quiet()
	for _, name := range []string{"a", "b", "c"} {
		// How often the start enqueues it depends on how many informers sync at the same moment.
		if waits := w.waits(name); waits > 0 {
			t.Errorf("after a restart, %s was reconciled %d times before its rule had begun", name, waits)
		}
	}
	restart := auditedRequests(t, log, "kanon under test", from)
	for _, resource := range []string{"/boxs?", "/configmaps?", "/services?"} {
		// The rule was started: it looked at parents and children.
		if !slices.ContainsFunc(restart, func(request string) bool { return strings.Contains(request, resource) }) {
			t.Errorf("the audit log has no look at %s after the restart: %q", resource, restart)
		}
	}
	for _, request := range restart {
		if verb, _, _ := strings.Cut(request, " "); verb != "get" && verb != "list" && verb != "watch" {
			t.Errorf("after a restart with all in place: %s", request)
		}
	}
}

// auditedRequests lists the requests of a user agent that the API server
// received after a time, as VERB URI.
func auditedRequests(t *testing.T, path, userAgent string, from time.Time) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var requests []string
	for line := range strings.Lines(string(data)) {
		var event struct {
			AuditID                  string
			Verb, RequestURI         string
			UserAgent                string
			RequestReceivedTimestamp time.Time
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("audit log: %v in %s", err, line)
		}
		if event.UserAgent == userAgent && event.RequestReceivedTimestamp.After(from) && !seen[event.AuditID] {
			seen[event.AuditID] = true
			requests = append(requests, event.Verb+" "+event.RequestURI)
		}
	}
	return requests
}
