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
)

// walls is a definition as a text has it.
func walls(t *testing.T, text, scope string) Definition {
	t.Helper()
	all, err := definitionsOf(text, []*unstructured.Unstructured{{Object: map[string]any{
		"metadata": map[string]any{"name": "walls.g"},
		"spec": map[string]any{
			"group": "g", "scope": scope, "names": map[string]any{"kind": "Wall"},
			"versions": []any{map[string]any{"name": "v1", "served": true}, map[string]any{"name": "old", "served": false}},
		},
	}}})
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

	if d.update([]Definition{one}, KindSet{}, now); writer.count() != 1 || d.waitsFor("one") == "" || d.waitsFor("other") != "" {
		t.Error("a new definition is not applied, or not awaited by its own text alone")
	}
	if d.update([]Definition{other, one}, KindSet{}, now); writer.count() != 0 || !strings.Contains(d.errs()["another"].Error(), "is already in one") {
		t.Error("a definition that another text has is applied, or nobody says so")
	}
	writer.applied = map[string]AppliedDefinition{"walls.g": {Hash: one.Hash, Err: errors.New("refused"), At: now}}
	if d.update([]Definition{one}, KindSet{}, now); d.waitsFor("one") != "" || d.isPending("one") || d.errs()["one"] == nil {
		t.Error("one that is refused is awaited, or nobody says why")
	}
	writer.applied = map[string]AppliedDefinition{"walls.g": {Hash: one.Hash, At: now, UID: "a", Generation: 2}}
	if d.update([]Definition{one}, KindSet{}, now); d.waitsFor("one") == "" || len(d.errs()) > 0 {
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
	if d.update([]Definition{one}, sets.New(wall), now); writer.count() != 1 || d.waitsFor("one") != "" || !d.isPending("one") {
		t.Error("after a change of its kinds it is not looked at again, or awaited")
	}
	delete(kinds, wall)
	writer.applied = map[string]AppliedDefinition{"walls.g": {Hash: one.Hash, At: now.Add(-definitionSettles), UID: "a"}}
	if d.update([]Definition{one}, KindSet{}, now); d.waitsFor("one") != "" {
		t.Error("kinds that are never served are awaited for ever")
	}
	if d.update(nil, KindSet{}, now); len(d.owned)+len(d.applied)+len(d.asked) > 0 {
		t.Error("a definition that is in no text is remembered")
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
		docs, _ := c.decode(source.Text{Name: "rule.yaml", Data: []byte(strings.Replace(rule, "STATUS", status, 1))})
		made, err := definitionsOf("rule.yaml", docs.WholeCRDs())
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
