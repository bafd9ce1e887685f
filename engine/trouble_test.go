package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/internal/controlplanetest"
)

func TestStrangersAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Box")
	w.rule("box", boxRule)
	w.run()
	stranger := w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: red-config, namespace: $HOME}\ndata: {color: mine}\n"))
	w.parent("Box", "red", "{color: red}")

	stalled := w.await(w.resource("Box"), w.home, "red", "is stalled", isTrue("Stalled"))
	if got := conditionField(stalled, "Stalled", "reason"); got != "NameTaken" {
		t.Errorf("the reason is %q", got)
	}
	if message := conditionField(stalled, "Stalled", "message"); !strings.Contains(message, "child config") || !strings.Contains(message, "red-config") {
		t.Errorf("the message names neither the node nor the object: %q", message)
	}
	w.awaitEvent(w.home, "red", "NameTaken")
	w.await(services, w.home, "red", "is made all the same", exists)
	live := w.get(configMaps, w.home, "red-config")
	if field(live, "data", "color") != "mine" || live.GetResourceVersion() != stranger.GetResourceVersion() {
		t.Errorf("the stranger's object was touched: %v", live.Object)
	}

	// It heals once the cause is gone, without anybody touching the parent.
	w.delete(configMaps, w.home, "red-config")
	w.await(configMaps, w.home, "red-config", "is the rule's", has("red", "data", "color"))
	healed := w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	if conditionStatus(healed, "Stalled") != "" {
		t.Error("a healed parent still has the condition Stalled")
	}
}

func TestFailedExpressionNamesItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Box")
	w.rule("box", boxRule)
	w.run()
	w.parent("Box", "red", "{size: 3}")
	stalled := w.await(w.resource("Box"), w.home, "red", "is stalled", isTrue("Stalled"))
	message := conditionField(stalled, "Stalled", "message")
	if want := "spec.color is missing (child config: template.data.color); the rule's author can read it with ?."; !strings.HasPrefix(message, want) {
		t.Errorf("the message does not begin with %q: %s", want, message)
	}
	w.await(services, w.home, "red", "is made all the same", exists)
	w.patch(w.resource("Box"), w.home, "red", `{"spec":{"color":"red"}}`)
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
}

// What the API server refuses stalls the parent; what was there stays.
func TestRefusedChild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Box")
	w.rule("box", strings.ReplaceAll(boxRule, "[{port: 80}]", "[{port: \"${parent.spec.?port.orValue(80)}\"}]"))
	w.run()
	w.parent("Box", "red", "{color: red}")
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	service := w.get(services, w.home, "red")
	w.patch(w.resource("Box"), w.home, "red", `{"spec":{"port":70000}}`)
	stalled := w.await(w.resource("Box"), w.home, "red", "is stalled", isTrue("Stalled"))
	if reason, message := conditionField(stalled, "Stalled", "reason"), conditionField(stalled, "Stalled", "message"); reason != "Invalid" || !strings.Contains(message, "65535") {
		t.Errorf("the condition says %s: %s", reason, message)
	}
	if w.get(services, w.home, "red").GetUID() != service.GetUID() {
		t.Error("a refused change replaced the Service")
	}
	w.patch(w.resource("Box"), w.home, "red", `{"spec":{"port":81}}`)
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
}

func TestParentThatLeavesTheSelector(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Note")
	w.rule("note", strings.ReplaceAll(note("x"), "kind: Note}", "kind: Note, selector: {matchLabels: {on: 'yes'}}}"))
	stop := w.run()
	w.verdict("note", `"ready":true`)
	w.parent("Note", "n", "{}")
	w.parent("Note", "m", "{}")
	label := func(name, value string) {
		w.patch(w.resource("Note"), w.home, name, `{"metadata":{"labels":{"on":`+value+`}}}`)
	}
	label("n", `"yes"`)
	label("m", `"yes"`)
	w.await(configMaps, w.home, "n", "is made", exists)
	w.await(configMaps, w.home, "m", "is made", exists)
	label("n", "null")
	w.awaitGone(configMaps, w.home, "n")

	// The same while Kanon is away.
	stop()
	label("m", "null")
	w.run()
	w.awaitGone(configMaps, w.home, "m")
}

func TestParentsByNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Note")
	label := func(value string) {
		w.patch(namespaces, "", w.home, `{"metadata":{"labels":{"env-`+w.group[:9]+`":`+value+`}}}`)
	}
	w.rule("note", strings.ReplaceAll(note("x"), "kind: Note}", "kind: Note, namespaceSelector: {matchLabels: {env-"+w.group[:9]+": prod}}}"))
	w.run()
	w.verdict("note", `"ready":true`)
	w.parent("Note", "n", "{}")
	label(`"prod"`)
	w.await(configMaps, w.home, "n", "is made once its Namespace is labelled", exists)
	label(`"test"`)
	w.awaitGone(configMaps, w.home, "n")
}

func TestParentPredicate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Note")
	w.rule("note", strings.ReplaceAll(note("x"), "kind: Note}", "kind: Note, when: \"${parent.spec.active}\"}"))
	w.run()
	w.parent("Note", "n", "{active: true}")
	w.await(configMaps, w.home, "n", "is made", exists)
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"active":false}}`)
	w.awaitGone(configMaps, w.home, "n")
}

// A parent deleted with orphaning keeps its children: none is taken along
// because its owner reference was put back.
func TestOrphaningDeletionIsRespected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Box")
	w.rule("box", boxRule)
	w.run()
	w.parent("Box", "red", "{color: red}")
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	orphan := metav1.DeletePropagationOrphan
	if err := w.at(w.resource("Box"), w.home).Delete(t.Context(), "red", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	w.awaitGone(w.resource("Box"), w.home, "red")
	w.await(services, w.home, "red", "has no owner any more", func(obj *unstructured.Unstructured) bool {
		return len(obj.GetOwnerReferences()) == 0
	})
	w.quiet()
	w.get(services, w.home, "red")
	w.get(configMaps, w.home, "red-config")
}

func TestRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Box")
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
	w := newWorldOn(t, plane.Config)
	w.config.UserAgent = "kanon under test"
	w.define("Box")
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

// A child that was made for an earlier parent of the same name is waited out,
// and is not taken for the new parent's.
func TestParentDeletedAndCreatedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Box")
	w.rule("box", boxRule)
	w.run()
	w.parent("Box", "red", "{color: red}")
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	old := w.get(configMaps, w.home, "red-config")
	w.delete(w.resource("Box"), w.home, "red")
	again := w.parent("Box", "red", "{color: red}")
	w.await(configMaps, w.home, "red-config", "is the new parent's", func(obj *unstructured.Unstructured) bool {
		owner, ok := mark.ReadOwner(obj)
		return ok && owner.Parent.UID == again.GetUID() && obj.GetUID() != old.GetUID()
	})
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
}
