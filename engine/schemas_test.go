package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	clientopenapi "k8s.io/client-go/openapi"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/restmapping/openapi"
)

// paintRule reads one field of its parent.
const paintRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: paint}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Wall}
  children:
  - id: paint
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {color: "${parent.spec.?color.orValue('white')}"}
`

// wallDefinition is a definition whose spec has certain fields and no others.
func (w *world) wallDefinition(fields ...string) *unstructured.Unstructured {
	w.t.Helper()
	definition := w.definition("Wall")
	properties := map[string]any{}
	for _, name := range fields {
		properties[name] = map[string]any{"type": "string"}
	}
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		w.t.Fatal(err)
	}
	spec := map[string]any{"type": "object", "properties": properties}
	if err := unstructured.SetNestedMap(versions[0].(map[string]any), spec, "schema", "openAPIV3Schema", "properties", "spec"); err != nil {
		w.t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
		w.t.Fatal(err)
	}
	return definition
}

// redefine changes the fields that a Wall has.
func (w *world) redefine(fields ...string) {
	w.t.Helper()
	next := w.wallDefinition(fields...)
	w.update(crds, "", next.GetName(), func(live *unstructured.Unstructured) { live.Object["spec"] = next.Object["spec"] })
}

// TestSchemaThatChanges holds that a rule is checked again when the schema of a kind
// that it uses changes: the finding comes, the last good revision keeps running,
// and the finding goes.
func TestSchemaThatChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.wallDefinition("color"))
	w.run()
	w.rule("paint", paintRule)
	w.verdict("paint", "rules in force: 1")
	w.parent("Wall", "north", `{color: red}`)
	w.await(configMaps, w.home, "north", "is red", has("red", "data", "color"))

	w.redefine("colour")
	verdict := w.verdict("paint", "KN0320")
	for _, part := range []string{`13:37: error: unknown field`, "the last good revision keeps running"} {
		if !strings.Contains(verdict, part) {
			t.Errorf("there is no %q in the verdict %s", part, verdict)
		}
	}
	w.parent("Wall", "south", `{}`)
	w.await(configMaps, w.home, "south", "is made by the last good revision", has("white", "data", "color"))

	// A revision that fits the new schema, and then the old schema again.
	w.rule("paint", strings.ReplaceAll(paintRule, "?color", "?colour"))
	w.verdict("paint", "rules in force: 1")
	w.redefine("color")
	w.verdict("paint", "KN0320")
	w.redefine("color", "colour")
	w.verdict("paint", "rules in force: 1")
}

// unreadable is an OpenAPI client that fails until it is mended.
type unreadable struct {
	clientopenapi.ClientWithContext
	mended atomic.Bool
}

func (u *unreadable) PathsWithContext(ctx context.Context) (map[string]clientopenapi.GroupVersionWithContext, error) {
	if !u.mended.Load() {
		return nil, errors.New("no schemas today")
	}
	return u.ClientWithContext.PathsWithContext(ctx)
}

// TestSchemaThatCannotBeRead holds that a rule waits while the schema of a kind cannot be
// read, says why, and starts when it can be.
func TestSchemaThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.wallDefinition("color"))
	client := &unreadable{ClientWithContext: w.openapi()}
	w.run(func(o *engine.Options) { o.Schemas = openapi.NewPublished(client) })
	w.rule("paint", paintRule)
	verdict := w.verdict("paint", "waiting for the schema of ConfigMap: ")
	for _, part := range []string{`"ready":false`, "no schemas today"} {
		if !strings.Contains(verdict, part) {
			t.Errorf("there is no %q in the verdict %s", part, verdict)
		}
	}
	client.mended.Store(true)
	if verdict := w.verdict("paint", "rules in force: 1"); strings.Contains(verdict, "KN0440") {
		t.Errorf("the rule was compiled without the schema: %s", verdict)
	}
}

// hidden is an OpenAPI client of an API server that publishes nothing of the core group.
type hidden struct {
	clientopenapi.ClientWithContext
}

func (h hidden) PathsWithContext(ctx context.Context) (map[string]clientopenapi.GroupVersionWithContext, error) {
	paths, err := h.ClientWithContext.PathsWithContext(ctx)
	delete(paths, "api/v1")
	return paths, err
}

// TestKindWithoutASchema holds that a rule runs without the schema of a kind of which the
// API server is known to publish none, and says so.
func TestKindWithoutASchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.wallDefinition("color"))
	w.run(func(o *engine.Options) { o.Schemas = openapi.NewPublished(hidden{w.openapi()}) })
	w.rule("paint", paintRule)
	if verdict := w.verdict("paint", "KN0440"); !strings.Contains(verdict, `kind ConfigMap in v1`) || !strings.Contains(verdict, "rules in force: 1") {
		t.Errorf("the verdict is %s", verdict)
	}
	w.parent("Wall", "north", `{color: red}`)
	w.await(configMaps, w.home, "north", "is red", has("red", "data", "color"))
}

// openapi is a client of the world's OpenAPI documents.
func (w *world) openapi() clientopenapi.ClientWithContext {
	w.t.Helper()
	disco, err := discovery.NewDiscoveryClientForConfig(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	return clientopenapi.NewClientWithContext(disco.RESTClient())
}
