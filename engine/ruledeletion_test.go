package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A status that is computed from itself by way of a lookup is slowed down as one that
// is read from the parent.
func TestStatusByWayOfALookupOfTheParent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: note}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  lookups:
  - {id: me, apiVersion: $GROUP/v1, kind: Note, name: "${parent.metadata.name}"}
  status: {n: "${lookups.me.?status.n.orValue(0) + 1}"}
`)
	w.run()
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	if got, rounds := w.during(4*time.Second, time.Second); len(got) > 2*rounds {
		t.Errorf("%d requests in %d rounds: %q", len(got), rounds, got)
	}
}

// The Secrets of a namespace are not kept for parents that a rule has let go.
func TestSecretsOfParentsThatAreLetGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	const rule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: reading}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note$SELECTOR}
  lookups: [{id: one, apiVersion: v1, kind: Secret, name: first}]
  status: {name: "${lookups.one.metadata.name}"}
`
	w.rule("reading", strings.ReplaceAll(rule, "$SELECTOR", ""))
	w.run()
	w.create(secrets, w.object("apiVersion: v1\nkind: Secret\nmetadata: {name: first, namespace: $HOME}\n"))
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "has read", has("first", "status", "name"))
	w.rule("reading", strings.ReplaceAll(rule, "$SELECTOR", ", selector: {matchLabels: {use: 'yes'}}"))
	w.create(w.resource("Note"), w.object("apiVersion: $GROUP/v1\nkind: Note\nmetadata: {name: m, namespace: $HOME, labels: {use: 'yes'}}\nspec: {}\n"))
	w.await(w.resource("Note"), w.home, "m", "has read", has("first", "status", "name"))
	w.delete(w.resource("Note"), w.home, "m")
	w.quiet()
	// The watch has ended: another parent lists anew.
	from := time.Now()
	w.create(w.resource("Note"), w.object("apiVersion: $GROUP/v1\nkind: Note\nmetadata: {name: o, namespace: $HOME, labels: {use: 'yes'}}\nspec: {}\n"))
	w.await(w.resource("Note"), w.home, "o", "has read", has("first", "status", "name"))
	if !slices.Contains(w.requests.allSince(from), "GET /api/v1/namespaces/"+w.home+"/secrets") {
		t.Error("the Secrets of the namespace were watched while nobody read one")
	}
}
