package catalog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/restmapping"
)

// lacking removes a kind.
func lacking(gvk schema.GroupVersionKind) func(c *cluster) {
	return func(c *cluster) { delete(c.kinds, gvk); c.update(gvk) }
}

// notesDefinition is the definition of Notes in a text.
const notesDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: notes.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Note, plural: notes}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---`

// TestWaiting: what a revision waits for, and what runs meanwhile.
func TestWaiting(t *testing.T) {
	t.Parallel()
	first, second := revision("first"), revision("second")
	withItem := strings.Replace(second, "  children:", "  lookups:\n  - {id: items, apiVersion: example.org/v1, kind: Item, selector: {}}\n  children:", 1)
	applied := func(c *cluster, of AppliedDefinition) {
		of.Hash, of.At = c.definitions.owned["notes.example.org"].Hash, c.now
		c.writer.applied = map[string]AppliedDefinition{"notes.example.org": of}
		c.update()
	}
	for name, test := range map[string]struct {
		prepare func(c *cluster)
		runs    string // the text; empty: none
		ready   bool
		report  string // part of it
	}{
		"a new rule waits for a schema": {func(c *cluster) {
			c.unanswered.Insert(noteKind)
			c.put("one", 1, first)
		}, "", false, "note: waiting for the schema of Note.example.org, which is being read"},
		"a schema that cannot be read": {func(c *cluster) {
			c.unanswered.Insert(noteKind)
			c.put("one", 1, first)
			c.update()
			c.reader.read = map[schema.GroupVersionKind]ReadSchema{noteKind: {Err: errors.New("no schemas today")}}
		}, "", false, "note: waiting for the schema of Note.example.org: no schemas today"},
		"a revision runs while the next one waits": {func(c *cluster) {
			c.define(itemKind, "Namespaced")
			c.unanswered.Insert(itemKind)
			c.put("one", 1, first)
			c.update()
			c.put("one", 1, withItem)
		}, first, false, "note: waiting for the schema of Item.example.org, which is being read\nthe last good revision keeps running"},
		"a rule runs while a schema is read again": {func(c *cluster) {
			c.put("one", 1, first)
			c.update()
			c.unanswered.Insert(noteKind)
			c.define(noteKind, "Namespaced", "other")
			c.update(noteKind)
		}, first, true, "note: to be checked again: waiting for the schema of Note.example.org, which is being read"},
		"a rule waits for the definition in its text": {func(c *cluster) {
			c.put("one", 1, notesDefinition+first)
		}, "", false, "note: waiting for CustomResourceDefinition notes.example.org, which is being applied"},
		"a definition that is not served yet": {func(c *cluster) {
			c.put("one", 1, notesDefinition+first)
			c.update()
			applied(c, AppliedDefinition{UID: "uid-Note", Generation: 9})
			c.now = c.now.Add(-GracePeriod / 2)
		}, "", false, "note: waiting for CustomResourceDefinition notes.example.org, whose kinds the API server does not serve yet"},
		"a definition that is served": {func(c *cluster) {
			c.put("one", 1, notesDefinition+first)
			c.update()
			applied(c, AppliedDefinition{UID: "uid-Note", Generation: 1})
		}, first, true, "note: running"},
		"a definition that is refused": {func(c *cluster) {
			c.put("one", 1, notesDefinition+first)
			c.update()
			applied(c, AppliedDefinition{Err: errors.New("refused")})
		}, first, false, "one/0.yaml: error: apply CustomResourceDefinition notes.example.org: refused"},
		"a definition in another text": {func(c *cluster) {
			c.put("one", 1, first)
			c.put("two", 1, notesDefinition)
		}, first, true, "note: running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			test.prepare(c)
			c.update()
			if got := c.running(); got != c.hashOf(strings.TrimPrefix(test.runs, notesDefinition)) {
				t.Errorf("another revision runs, or none; want %q", test.runs)
			}
			c.Reports(nil, nil, c.now)
			c.now = c.now.Add(GracePeriod)
			if report := c.report("one"); report.Ready != test.ready || !strings.Contains(textOf(report), test.report) {
				t.Errorf("the report, with ready %t, is %s", report.Ready, textOf(report))
			}
		})
	}
}

// TestReportsThatAreDue: nothing is reported of an origin that waits until its grace period is
// over, and then again after each.
func TestReportsThatAreDue(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.define(itemKind, "Namespaced")
	c.unanswered.Insert(itemKind)
	c.put("quick", 1, noteRule)
	c.put("slow", 1, edit("name: note", "name: slow", "kind: Note", "kind: Item"))
	c.put("starting", 1, edit("name: note", "name: starting"))
	c.update()
	starting := map[string]bool{"kanon/starting": true}
	for _, step := range []struct {
		after time.Duration
		due   int
		again time.Duration
	}{
		{0, 1, GracePeriod},
		{time.Second, 1, GracePeriod - time.Second},
		{GracePeriod - time.Second, 3, GracePeriod},
		{time.Second, 1, GracePeriod - time.Second},
	} {
		c.now = c.now.Add(step.after)
		if reports, again := c.Reports(starting, nil, c.now); len(reports) != step.due || again != step.again {
			t.Errorf("after %s, %d reports are due, and others after %s; want %d and %s", step.after, len(reports), again, step.due, step.again)
		}
	}
	c.unanswered.Delete(itemKind)
	c.reader.read = map[schema.GroupVersionKind]ReadSchema{itemKind: {Schema: c.schemas[itemKind], Definition: restmapping.Definition{UID: "uid-Item", Generation: 1}}}
	c.update()
	reports, again := c.Reports(nil, nil, c.now)
	if len(reports) != 3 || again != 0 {
		t.Errorf("%d reports are due, and others after %s, although nothing waits", len(reports), again)
	}
	c.unanswered.Insert(itemKind)
	c.define(itemKind, "Namespaced", "size")
	c.update(itemKind)
	if again, left := c.Reports(nil, nil, c.now); len(again) != 2 || left != GracePeriod {
		t.Errorf("%d reports are due, and others after %s, although a new grace period began", len(again), left)
	}
	for _, name := range []string{"quick", "slow", "starting"} {
		if report := reports[originOf(name)]; !report.Ready || !hasRule(report, name) && name != "quick" {
			t.Errorf("the report on %s is %s", name, textOf(report))
		}
	}
}

// TestReportOnAMissingKind: a rule whose kind may be about to appear, because its definition was
// installed a moment ago, is not reported at once, and is not asked about again and again after that.
func TestReportOnAMissingKind(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	delete(c.kinds, noteKind)
	c.put("early", 1, noteRule)
	c.put("wrong", 1, edit("name: note", "name: wrong", "kind: Note}", "kind: Note, wrong: 1}"))
	c.update()
	if reports, again := c.Reports(nil, nil, c.now); len(reports) != 1 || again != GracePeriod {
		t.Errorf("%d reports are due at once, and others after %s", len(reports), again)
	}
	c.now = c.now.Add(GracePeriod)
	reports, _ := c.Reports(nil, nil, c.now)
	if early := reports[originOf("early")]; len(early.Rules) != 1 || !early.Rules[0].Waiting || early.Ready {
		t.Errorf("the report is %+v, want a rule that waits", early)
	}
	if _, again := c.Reports(nil, nil, c.now); again != 0 {
		t.Errorf("the next report is due after %s, although nothing changes", again)
	}
	c.define(noteKind, "Namespaced")
	c.update(noteKind)
	if reports, _ := c.Reports(nil, nil, c.now); !reports[originOf("early")].Ready {
		t.Errorf("the report is %+v, although the kind exists", reports[originOf("early")])
	}
}

// TestLastGoodRevisionIsCompiledAgain: a change of a kind is good for the revision that runs,
// too, while a newer one has errors; but not before the schema is read.
func TestLastGoodRevisionIsCompiledAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put("one", 1, itemOfNote) // while there are no Items
	c.update()
	c.put("one", 1, revision(`"${nobody}"`))
	c.update()
	isUnresolved := func() bool { return c.Rules()[0].Program.Children[1].Unresolved }
	if !isUnresolved() {
		t.Fatal("the child is of a kind that exists")
	}
	c.define(itemKind, "Namespaced")
	c.unanswered.Insert(itemKind)
	if c.update(itemKind); !isUnresolved() {
		t.Error("the revision was compiled without the schema")
	}
	c.unanswered.Delete(itemKind)
	if c.update(itemKind); isUnresolved() || c.running() != c.hashOf(itemOfNote) {
		t.Error("the revision was not compiled again")
	}
}

func hasRule(report source.Report, name string) bool {
	return len(report.Rules) == 1 && report.Rules[0].Name == name
}
