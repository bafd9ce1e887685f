package memory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// newCluster has a WebApp, and a rule with what spec has.
func newCluster(t *testing.T, spec string) *memory.Cluster {
	t.Helper()
	docs, findings := syntax.Decode("rule.yaml", []byte("apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: web}\nspec:\n  parent: {apiVersion: example.com/v1, kind: WebApp}\n"+spec))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	program, findings := rules.Compile(docs.Rules[0], rules.Options{})
	if program == nil {
		t.Fatal(findings)
	}
	parent := object(t, "{apiVersion: example.com/v1, kind: WebApp, metadata: {name: front, namespace: shop}, spec: {color: red}}")
	kinds, err := memory.NewKinds(nil, program, parent)
	if err != nil {
		t.Fatal(err)
	}
	c, err := memory.New(t.Context(), memory.Options{Kinds: kinds, Program: program, Parent: parent, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

const child = `
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {color: "${parent.spec.color}"}
  status: {color: "${children.config.data.color}"}`

// A change of a child by somebody else is undone, but for what the rule does not render, and a child goes with its parent
// unless a finalizer keeps it.
func TestLifeOfAChild(t *testing.T) {
	t.Parallel()
	c := newCluster(t, child)
	settle := func() {
		t.Helper()
		if err := c.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	if err := c.Set(t.Context(), object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: front, namespace: shop, finalizers: [example.com/kept]}, data: {color: blue, more: x}}")); err != nil {
		t.Fatal(err)
	}
	settle()
	config := c.API.Find(configMaps, "shop", "front")
	if d := cmp.Diff(map[string]any{"color": "red", "more": "x"}, config.Object["data"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff("red", c.Parent().Object["status"].(map[string]any)["color"]); d != "" {
		t.Error(d)
	}
	before := c.API.Version()
	if settle(); c.API.Version() != before {
		t.Error("a cluster at rest is written to")
	}
	if err := c.Delete(c.Parent()); err != nil {
		t.Fatal(err)
	}
	settle()
	if config = c.API.Find(configMaps, "shop", "front"); c.Parent() != nil || config == nil || config.GetDeletionTimestamp() == nil {
		t.Errorf("the parent is %v, the child %v", c.Parent(), config)
	}
	if err := c.Set(t.Context(), object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: front, namespace: shop, finalizers: null}}")); err != nil {
		t.Fatal(err)
	}
	if config = c.API.Find(configMaps, "shop", "front"); config != nil {
		t.Errorf("the child still exists: %v", config)
	}
}

// A rule whose status depends on itself never settles.
func TestLoop(t *testing.T) {
	t.Parallel()
	c := newCluster(t, `
  status: {count: "${parent.?status.?count.orValue(0) + 1}"}`)
	if err := c.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), "still changes") {
		t.Errorf("the error is %v", err)
	}
}
