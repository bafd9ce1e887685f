package catalog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

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
