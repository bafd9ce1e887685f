package catalog

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules/syntax"
)

// TestLastGoodRevision: which revision of a rule runs after a row of events, and what the
// report says.
func TestLastGoodRevision(t *testing.T) {
	t.Parallel()
	text := func(text string) func(c *cluster) {
		return func(c *cluster) { c.put("one", 1, text); c.update() }
	}
	first, second := revision("first"), revision("second")
	broken, unclosed, partial := revision(`"${parent.spec.}"`), "spec: [unclosed\n", edit("id: config", "id: config\n    wen: ${true}")
	suspended := strings.Replace(second, "spec:\n", "spec:\n  suspend: true\n", 1)
	const keeps = "the last good revision keeps running"
	for name, test := range map[string]struct {
		events []func(c *cluster)
		runs   string // the text; empty: none
		ready  bool
		report string // part of it
	}{
		"a rule that compiles":                      {[]func(*cluster){text(first)}, first, true, "note: running"},
		"a second revision":                         {[]func(*cluster){text(first), text(second)}, second, true, "note: running"},
		"a revision that does not compile":          {[]func(*cluster){text(first), text(broken)}, first, false, keeps},
		"a rule that never compiled":                {[]func(*cluster){text(broken)}, "", false, "one/0.yaml:13:"},
		"a text that is not YAML":                   {[]func(*cluster){text(first), text(unclosed)}, first, false, keeps},
		"a text that is not YAML, second":           {[]func(*cluster){text(first), text(second), text(unclosed)}, second, false, "note: its document cannot be read"},
		"a document that is decoded in part":        {[]func(*cluster){text(first), text(partial)}, first, false, "wen"},
		"a mistake is corrected":                    {[]func(*cluster){text(first), text(broken), text(second)}, second, true, "note: running"},
		"a text that is corrected":                  {[]func(*cluster){text(first), text(unclosed), text(second)}, second, true, "note: running"},
		"suspended":                                 {[]func(*cluster){text(first), text(suspended)}, "", true, "suspended: nothing is written"},
		"suspended, and then a mistake":             {[]func(*cluster){text(suspended), text(broken)}, "", false, "one/0.yaml:13:"},
		"the kind of the parents is missing":        {[]func(*cluster){lacking(noteKind), text(first)}, "", false, "the cluster has no kind Note"},
		"the kind of the parents is removed":        {[]func(*cluster){text(first), lacking(noteKind)}, "", false, "the cluster has no kind Note"},
		"a mistake, and then that kind goes":        {[]func(*cluster){text(first), text(broken), lacking(noteKind)}, "", false, "one/0.yaml:13:"},
		"the kind of the parents comes back":        {[]func(*cluster){text(first), lacking(noteKind), noteWith("text")}, first, true, "note: running"},
		"the kind of a child is missing":            {[]func(*cluster){lacking(configKind), text(first)}, first, true, "warning: the cluster has no kind ConfigMap"},
		"a schema corrects a rule":                  {[]func(*cluster){noteWith("size"), text(reading), noteWith("size", "text")}, reading, true, "note: running"},
		"a schema takes away what a rule reads":     {[]func(*cluster){text(reading), noteWith("size")}, reading, false, keeps},
		"a schema corrects a newer revision":        {[]func(*cluster){noteWith("size"), text(first), text(reading), noteWith("text")}, reading, true, "note: running"},
		"a new kind corrects a newer revision":      {[]func(*cluster){itemIn("Cluster"), text(first), text(itemOfNote), itemIn("Namespaced")}, itemOfNote, true, "note: running"},
		"a kind that is wrong for a newer one":      {[]func(*cluster){itemIn("Cluster"), text(first), text(itemOfNote)}, first, false, keeps},
		"the scope of a child's kind changes":       {[]func(*cluster){itemIn("Namespaced"), text(itemOfNote), itemIn("Cluster")}, "", false, "the scope of a kind has changed"},
		"the scope changes after a mistake":         {[]func(*cluster){itemIn("Namespaced"), text(itemOfNote), text(broken), itemIn("Cluster")}, "", false, "the scope of a kind has changed"},
		"the scope changes back":                    {[]func(*cluster){itemIn("Namespaced"), text(itemOfNote), itemIn("Cluster"), itemIn("Namespaced")}, itemOfNote, true, "note: running"},
		"a finding suggests a kind that came later": {[]func(*cluster){text(strings.Replace(first, "kind: Note", "kind: Itme", 1)), itemIn("Namespaced")}, "", false, "Item"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			for _, event := range test.events {
				event(c)
			}
			if got := c.running(); got != c.hashOf(test.runs) {
				t.Errorf("another revision runs, or none; want %q", test.runs)
			}
			if report := c.report("one"); report.Ready != test.ready || !strings.Contains(textOf(report), test.report) || strings.Contains(textOf(report), keeps) != (!test.ready && test.runs != "") {
				t.Errorf("the report, with ready %t, is %s", report.Ready, textOf(report))
			}
		})
	}
}

// reading is a rule that reads spec.text of a Note, and itemOfNote one that makes an Item in
// the namespace of a Note.
var (
	reading    = revision(`"${parent.spec.?text.orValue('none')}"`)
	itemOfNote = noteRule + `  - id: item
    readyWhen: ${true}
    template:
      apiVersion: example.org/v1
      kind: Item
      metadata: {name: "${parent.metadata.name}", namespace: home}
`
)

// noteWith has Notes with these fields installed.
func noteWith(fields ...string) func(c *cluster) {
	return func(c *cluster) {
		c.define(noteKind, "Namespaced", fields...)
		c.update(noteKind)
	}
}

// itemIn has Items of a scope installed.
func itemIn(scope string) func(c *cluster) {
	return func(c *cluster) {
		c.define(itemKind, scope)
		c.update(itemKind)
	}
}

// TestOnRuleDeletion: what a rule that does not run says of its removal.
func TestOnRuleDeletion(t *testing.T) {
	t.Parallel()
	deleting, orphaning := noteRule+"  onRuleDeletion: Delete\n", noteRule+"  onRuleDeletion: Orphan\n"
	suspended := func(text string) string { return strings.Replace(text, "spec:\n", "spec:\n  suspend: true\n", 1) }
	broken := func(text string) string { return strings.Replace(text, "{text: x}", `{text: "${nobody}"}`, 1) }
	for name, test := range map[string]struct {
		text         string
		before, want syntax.RuleDeletion
	}{
		"the good revision deletes":                  {suspended(deleting), syntax.OrphanChildren, syntax.DeleteChildren},
		"the good revision keeps":                    {suspended(orphaning), syntax.DeleteChildren, syntax.OrphanChildren},
		"one that does not compile deletes nothing":  {broken(deleting), syntax.OrphanChildren, syntax.OrphanChildren},
		"one that does not compile changes nothing":  {broken(deleting), syntax.DeleteChildren, syntax.DeleteChildren},
		"one that does not compile keeps what it is": {broken(orphaning), syntax.DeleteChildren, syntax.OrphanChildren},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.put("one", 1, test.text)
			c.update()
			rule := c.Rules()[0]
			if got := rule.OnRuleDeletion(test.before); rule.Program != nil || got != test.want {
				t.Errorf("it is %s, want %s; the rule runs: %t", got, test.want, rule.Program != nil)
			}
		})
	}
}

// TestConfirmedRevisions: the document and its origin may confirm what a revision deletes.
func TestConfirmedRevisions(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put("one", 1, edit("metadata: {name: note}", "metadata: {name: note, annotations: {"+syntax.AnnotationConfirmPrune+": abc}}"))
	c.snapshot.Bundles[0].Annotations.ConfirmPrune = "def, ghi"
	c.update()
	if got := strings.Join(c.Rules()[0].Confirmed, " "); got != "def ghi abc" {
		t.Errorf("confirmed are %s", got)
	}
}

// TestAnnotationsOfRecords: annotations of the record of a rule ask for something if the rule is in a file. A rule of a ConfigMap or of a
// Rule object has its own, which do not suspend it: people change spec.suspend there.
func TestAnnotationsOfRecords(t *testing.T) {
	t.Parallel()
	all := source.Annotations{ConfirmPrune: "abc", Verbosity: "4", Suspended: true}
	for name, test := range map[string]struct {
		origin         source.Origin
		record, object source.Annotations
		suspended      bool
		confirmed      string
		verbosity      int
	}{
		"a file":                        {origin: source.Origin{Path: "rules/note.yaml"}, record: all, suspended: true, confirmed: "abc", verbosity: 4},
		"a file without":                {origin: source.Origin{Path: "rules/note.yaml"}},
		"the record of a ConfigMap":     {origin: originOf("one"), record: all},
		"the record of a Rule object":   {origin: ruleOrigin, record: all},
		"the record of a tenant's rule": {origin: originOf("team:one"), record: all},
		"a ConfigMap":                   {origin: originOf("one"), object: all, confirmed: "abc", verbosity: 4},
		"a Rule object":                 {origin: ruleOrigin, object: all, confirmed: "abc", verbosity: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.annotations = func(string) source.Annotations { return test.record }
			c.snapshot.Bundles = []source.Bundle{{
				Origin: test.origin, Annotations: test.object, Texts: []source.Text{{Name: "note.yaml", Data: []byte(noteRule), Object: test.origin == ruleOrigin}},
			}}
			c.update()
			if len(c.Rules()) != 1 {
				t.Fatalf("there are %d rules", len(c.Rules()))
			}
			rule := c.Rules()[0]
			if got := rule.Program == nil; got != test.suspended {
				t.Errorf("the rule is suspended: %t, want %t", got, test.suspended)
			}
			if got := strings.Join(rule.Confirmed, " "); got != test.confirmed || rule.Verbosity != test.verbosity {
				t.Errorf("confirmed are %q, want %q, and the verbosity is %d, want %d", got, test.confirmed, rule.Verbosity, test.verbosity)
			}
		})
	}
}

// ruleOrigin is a Rule object.
var ruleOrigin = source.Origin{Rule: types.NamespacedName{Namespace: "kanon", Name: "note"}}

// TestVerbosity: the document and its origin may have more logged about a rule, which makes no new revision of it.
func TestVerbosity(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put("one", 1, noteRule)
	c.update()
	before := c.Rules()[0]
	for name, test := range map[string]struct {
		document, origin string
		want             int
	}{
		"the document":        {document: `"4"`, want: 4},
		"its origin":          {origin: "2", want: 2},
		"the greater of both": {document: `"1"`, origin: "3", want: 3},
		"no number":           {document: "loud", origin: "louder"},
		"none":                {},
	} {
		text := noteRule
		if test.document != "" {
			text = edit("metadata: {name: note}", "metadata: {name: note, annotations: {"+syntax.AnnotationVerbosity+": "+test.document+"}}")
		}
		c.put("one", 1, text)
		c.snapshot.Bundles[0].Annotations.Verbosity = test.origin
		c.update()
		if rule := c.Rules()[0]; rule.Verbosity != test.want || rule.Program != before.Program {
			t.Errorf("%s: %d, want %d; the program is the one before: %t", name, rule.Verbosity, test.want, rule.Program == before.Program)
		}
	}
}
