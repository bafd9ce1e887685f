package catalog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/syntax"
)

// walls is a definition as a text has it.
func walls(t *testing.T, text, scope string) Definition {
	t.Helper()
	all, err := definitionsOf(text, &syntax.Documents{CRDs: []*unstructured.Unstructured{{Object: map[string]any{
		"metadata": map[string]any{"name": "walls.g"},
		"spec": map[string]any{
			"group": "g", "scope": scope, "names": map[string]any{"kind": "Wall"},
			"versions": []any{map[string]any{"name": "v1", "served": true}, map[string]any{"name": "old", "served": false}},
		},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// TestDefinitions: the rules of a text wait until its definitions are applied, and their kinds
// are served.
func TestDefinitions(t *testing.T) {
	wall := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Wall"}
	kinds, writer, now := kindTable{}, &fakeWriter{}, time.Now()
	d := newDefinitions(kinds, writer)
	one, other := walls(t, "one", "Namespaced"), walls(t, "another", "Cluster")

	if d.update([]Definition{one}, nil, KindSet{}, now); writer.count() != 1 || d.waitsFor("one") == "" || d.waitsFor("other") != "" {
		t.Error("a new definition is not applied, or not awaited by its own text alone")
	}
	if d.update([]Definition{other, one}, nil, KindSet{}, now); writer.count() != 0 || !strings.Contains(d.errs()["another"].Error(), "is already in one") {
		t.Error("a definition that another text has is applied, or nobody says so")
	}
	writer.applied = map[string]AppliedDefinition{"walls.g": {Hash: one.Hash, Err: errors.New("refused"), At: now}}
	if d.update([]Definition{one}, nil, KindSet{}, now); d.waitsFor("one") != "" || d.isPending("one") || d.errs()["one"] == nil {
		t.Error("one that is refused is awaited, or nobody says why")
	}
	writer.applied = map[string]AppliedDefinition{"walls.g": {Hash: one.Hash, At: now, UID: "a", Generation: 2}}
	if d.update([]Definition{one}, nil, KindSet{}, now); d.waitsFor("one") == "" || len(d.errs()) > 0 {
		t.Error("its kinds are not awaited")
	}
	if !d.isPending("one") {
		t.Error("it is not pending while its kinds are awaited")
	}
	kinds.define(wall, restmapping.Definition{UID: "a", Generation: 1})
	if d.waitsFor("one") == "" {
		t.Error("an older state of its kinds is enough")
	}
	kinds.define(wall, restmapping.Definition{UID: "a", Generation: 2})
	if d.waitsFor("one") != "" {
		t.Error("its kinds are awaited although they are served")
	}
	if d.update([]Definition{one}, nil, sets.New(wall), now); writer.count() != 1 || d.waitsFor("one") != "" || !d.isPending("one") {
		t.Error("after a change of its kinds it is not looked at again, or awaited")
	}
	delete(kinds, wall)
	writer.applied = map[string]AppliedDefinition{"walls.g": {Hash: one.Hash, At: now.Add(-definitionSettles), UID: "a"}}
	if d.update([]Definition{one}, nil, KindSet{}, now); d.waitsFor("one") != "" {
		t.Error("kinds that are never served are awaited for ever")
	}
	if d.update(nil, nil, KindSet{}, now); len(d.owned)+len(d.applied)+len(d.asked) > 0 {
		t.Error("a definition that is in no text is remembered")
	}
}

// schemaRule makes a definition of Walls with a field.
func schemaRule(name, field string) string {
	return edit("name: note", "name: "+name, "kind: Note", "kind: Wall, schema: {spec: {"+field+": string}}", "{text: x}", `{text: "${string(has(parent.spec.`+field+`))}"}`)
}

// answer says what came of applying a definition that was asked for.
func (c *cluster) answer(failure *Failure) {
	c.Helper()
	const name = "walls.example.org"
	owned := c.definitions.owned[name]
	applied := AppliedDefinition{Hash: owned.Hash, At: c.now, Refused: failure}
	if failure != nil {
		applied.Err = errors.New(failure.Message)
	} else {
		wall := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Wall"}
		c.define(wall, "Namespaced", "color")
		applied.UID, applied.Generation = c.kinds[wall].Definition.UID, c.kinds[wall].Definition.Generation
	}
	c.writer.applied = map[string]AppliedDefinition{name: applied}
	c.update()
}

// TestDefinitionOfARule: a revision runs once the cluster has the definition that its schema makes, and the one before it until then.
func TestDefinitionOfARule(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	held := &Failure{Reason: "DefinitionHeld", Message: "DefinitionHeld: nothing is changed"}
	c.put("one", 1, schemaRule("wall", "color"))
	c.update()
	reports, _ := c.Reports(nil, nil, c.now)
	if _, due := reports[originOf("one")]; c.writer.count() != 1 || due {
		t.Error("the definition is not applied, or a report is due before that")
	}
	c.answer(held)
	if report := c.report("one"); report.Ready || report.Rules[0].Reason != held.Reason || report.Rules[0].Message != held.Message {
		t.Errorf("it is refused, and the report is %v", report)
	}
	c.answer(nil)
	if report := c.report("one"); !report.Ready || c.Rules()[0].Program == nil {
		t.Errorf("it is applied, and the report is %v", report)
	}

	good := c.Rules()[0].Program
	c.put("one", 1, schemaRule("wall", "size"))
	c.update()
	c.answer(held)
	report := c.report("one")
	if want := held.Message + "\nthe last good revision keeps running"; report.Ready || report.Rules[0].Message != want || c.Rules()[0].Program != good {
		t.Errorf("a change is refused, and the report is %v", report)
	}
	c.writer.count()
	for i := range c.snapshot.Bundles {
		c.snapshot.Bundles[i].Annotations.ConfirmDefinition = "x"
	}
	if c.update(); c.writer.count() != 1 || c.definitions.owned["walls.example.org"].Confirmed[0] != "x" {
		t.Error("a confirmation does not have it applied")
	}

	// A mistake in the text: the definition stays what it was, and nobody else takes it.
	c.put("one", 1, schemaRule("wall", "size")+"  nothing: 1\n")
	c.put("two", 0, schemaRule("fence", "height"))
	if c.update(); c.writer.count() != 0 || c.definitions.owned["walls.example.org"].Rule.Name != "wall" {
		t.Error("the definition of a text that cannot be decoded went to another one")
	}
	c.remove("one")
	if c.update(); c.writer.count() != 1 || c.definitions.owned["walls.example.org"].Rule.Name != "fence" {
		t.Error("the definition of a text that is gone does not go to another one")
	}
}

// TestDefinitionOfTwoRules: the definition is that of the older rule, and the reports on both say so.
func TestDefinitionOfTwoRules(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]string{"another": "size", "the same": "color"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.put("young", 1, schemaRule("alpha", second))
			c.put("old", 2, schemaRule("zeta", "color"))
			c.update()
			c.answer(nil)
			if report := c.report("old"); !report.Ready || strings.Count(report.Rules[0].Message, "rule alpha has a schema for kind Wall too") != 1 {
				t.Errorf("the report on the older is %v", report)
			}
			report := c.report("young")
			if report.Ready != (name == "the same") || strings.Count(report.Rules[0].Message, "rule zeta has a schema for kind Wall too") != 1 ||
				strings.Contains(report.Rules[0].Message, "belongs to rule kanon/zeta, in old/0.yaml") == report.Ready {
				t.Errorf("the report on the younger is %v", report)
			}
		})
	}
}

// TestDefinitionOfAKindWithAnotherName: a kind that the cluster has under another name gets no second definition.
func TestDefinitionOfAKindWithAnotherName(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.define(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Wall"}, "Namespaced", "color")
	c.put("one", 1, edit("kind: Note", "kind: Wall, schema: {plural: wallen, spec: {color: string}}"))
	if c.update(); c.writer.count() != 0 {
		t.Error("another definition is applied")
	}
	if report := c.report("one"); report.Ready || !strings.Contains(report.Rules[0].Message, "walls.example.org has the kind Wall already") {
		t.Errorf("the report is %v", report)
	}
}

// TestDefinitionOfASchema: the definition that a rule's schema makes is applied with the types of its status, and not before the rule is
// right.
func TestDefinitionOfASchema(t *testing.T) {
	t.Parallel()
	const rule = `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: kiosk}
spec:
  parent:
    apiVersion: mall.example.com/v1
    kind: Kiosk
    schema: {spec: {size: integer | required}}
  status: {size: "${STATUS}"}
`
	c := &Catalog{}
	decode := func(status string) []Definition {
		docs, _ := c.decode(source.Text{Name: "rule.yaml", Data: []byte(strings.Replace(rule, "STATUS", status, 1))}, place{})
		made, err := definitionsOf("rule.yaml", &docs)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	made := decode("parent.spec.size")
	if len(made) != 1 {
		t.Fatalf("there are %d definitions", len(made))
	}
	versions, _, _ := unstructured.NestedSlice(made[0].Object.Object, "spec", "versions")
	typ, _, _ := unstructured.NestedString(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "status", "properties", "size", "type") //nolint:forcetypeassert // Definition makes it
	if typ != "integer" {
		t.Errorf("the type of status.size is %q", typ)
	}
	for _, status := range []string{"fromJson('1')", "parent.spec.none +"} {
		if made := decode(status); len(made) != 0 {
			t.Errorf("%s: there are %d definitions", status, len(made))
		}
	}
}
