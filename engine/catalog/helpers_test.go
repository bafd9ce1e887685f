package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/syntax"
)

// kindTable has the kinds of a cluster.
type kindTable map[schema.GroupVersionKind]restmapping.Kind

func (t kindTable) Lookup(gvk schema.GroupVersionKind) (restmapping.Kind, bool) {
	kind, ok := t[gvk]
	return kind, ok
}

func (t kindTable) Kinds() []restmapping.Kind { return slices.Collect(maps.Values(t)) }

func (t kindTable) Missing(schema.GroupVersionKind) error { return errors.New("the kind is missing") }

func (t kindTable) define(gvk schema.GroupVersionKind, definition restmapping.Definition) {
	t[gvk] = restmapping.Kind{GVK: gvk, Namespaced: true, Definition: definition}
}

// fakeReader is a SchemaReader that a test answers for.
type fakeReader struct {
	asked []schema.GroupVersionKind
	read  map[schema.GroupVersionKind]ReadSchema
}

func (f *fakeReader) Read(gvk schema.GroupVersionKind, _ *openapi.Schema) {
	f.asked = append(f.asked, gvk)
}

func (f *fakeReader) Take(KindSet) map[schema.GroupVersionKind]ReadSchema {
	taken := f.read
	f.read = nil
	return taken
}

// count is how many schemas were asked for since the last call.
func (f *fakeReader) count() int {
	n := len(f.asked)
	f.asked = nil
	return n
}

// fakeWriter is a DefinitionWriter that a test answers for.
type fakeWriter struct {
	asked   []string
	applied map[string]AppliedDefinition
}

func (f *fakeWriter) Apply(d Definition) { f.asked = append(f.asked, d.Object.GetName()) }

func (f *fakeWriter) Drop(string) {}

func (f *fakeWriter) Take() map[string]AppliedDefinition {
	taken := f.applied
	f.applied = nil
	return taken
}

// count is how many definitions were asked for since the last call.
func (f *fakeWriter) count() int {
	n := len(f.asked)
	f.asked = nil
	return n
}

var (
	noteKind   = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Note"}
	itemKind   = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Item"}
	configKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// noteRule makes one ConfigMap of each Note.
const noteRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: note}
spec:
  parent: {apiVersion: example.org/v1, kind: Note}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {text: x}
`

// edit replaces parts of noteRule, old and new by turns.
func edit(replace ...string) string { return strings.NewReplacer(replace...).Replace(noteRule) }

// revision is noteRule with some text in the ConfigMap.
func revision(text string) string { return edit("{text: x}", "{text: "+text+"}") }

// cluster is a catalog with all that it asks for. Its only source has ConfigMaps and files.
type cluster struct {
	*testing.T
	*Catalog
	kinds   kindTable
	reader  *fakeReader
	writer  *fakeWriter
	schemas map[schema.GroupVersionKind]*openapi.Schema
	// unanswered are the kinds whose schema does not arrive.
	unanswered KindSet
	now        time.Time
	snapshot   source.Snapshot
	// recorded are the rules with a record, by their ids.
	recorded map[string]types.NamespacedName
}

// newCluster makes a cluster with Notes and ConfigMaps, after the grace period of the start.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	known, err := openapi.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		T: t, kinds: kindTable{}, reader: &fakeReader{}, writer: &fakeWriter{}, unanswered: KindSet{},
		schemas: map[schema.GroupVersionKind]*openapi.Schema{configKind: known.Schema(configKind)},
		now:     time.Now(), snapshot: source.Snapshot{Complete: true},
	}
	c.kinds.define(configKind, restmapping.Definition{})
	c.define(noteKind, "Namespaced", "text")
	c.Catalog = New(Options{
		Kinds: c.kinds, Schemas: c.reader, Definitions: c.writer, Namespace: "kanon",
		RuleID:      func(_, namespace, name string) string { return namespace + "/" + name },
		Recorded:    func() (map[string]types.NamespacedName, bool) { return c.recorded, c.recorded != nil },
		Annotations: func(string) source.Annotations { return source.Annotations{} },
	}, c.now)
	c.now = c.now.Add(startGracePeriod)
	return c
}

// define installs a custom kind whose spec has these fields, or changes it.
func (c *cluster) define(gvk schema.GroupVersionKind, scope string, fields ...string) {
	c.Helper()
	properties := map[string]any{}
	for _, name := range fields {
		properties[name] = map[string]any{"type": "string"}
	}
	kinds, err := openapi.FromCRD(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": gvk.Group, "scope": scope, "names": map[string]any{"kind": gvk.Kind, "plural": strings.ToLower(gvk.Kind) + "s"},
		"versions": []any{map[string]any{"name": gvk.Version, "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": properties}},
		}}}},
	}}})
	if err != nil {
		c.Fatal(err)
	}
	c.schemas[gvk] = kinds.Schema(gvk)
	before := c.kinds[gvk].Definition
	c.kinds[gvk] = restmapping.Kind{
		GVK: gvk, GVR: gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), Namespaced: scope == "Namespaced",
		Definition: restmapping.Definition{UID: types.UID("uid-" + gvk.Kind), Generation: before.Generation + 1},
	}
}

// put sets the texts of an origin, by the names of their keys: a ConfigMap of that age in
// seconds, or a file if name has a slash. It takes effect with the next update.
func (c *cluster) put(name string, age int, texts ...string) {
	c.remove(name)
	bundle := source.Bundle{Origin: originOf(name)}
	if bundle.Origin.Path == "" {
		bundle.Created = time.Unix(0, 0).Add(-time.Duration(age) * time.Second)
	}
	for i, text := range texts {
		bundle.Texts = append(bundle.Texts, source.Text{Name: fmt.Sprintf("%s/%d.yaml", name, i), Data: []byte(text)})
	}
	c.snapshot.Bundles = append(c.snapshot.Bundles, bundle)
}

// remove deletes an origin. It takes effect with the next update.
func (c *cluster) remove(name string) {
	c.snapshot.Bundles = slices.DeleteFunc(slices.Clone(c.snapshot.Bundles), func(b source.Bundle) bool { return b.Origin == originOf(name) })
}

// originOf is the origin of that name: a file if it has a slash, and a ConfigMap of a tenant if it has a namespace and a colon.
func originOf(name string) source.Origin {
	if strings.Contains(name, "/") {
		return source.Origin{Path: name}
	}
	if namespace, name, ok := strings.Cut(name, ":"); ok {
		return source.Origin{ConfigMap: types.NamespacedName{Namespace: namespace, Name: name}}
	}
	return source.Origin{ConfigMap: types.NamespacedName{Namespace: "kanon", Name: name}}
}

// update has the catalog take in what is there, and then the schemas that it asks for.
func (c *cluster) update(changed ...schema.GroupVersionKind) {
	changes := Changes{Snapshots: []source.Snapshot{c.snapshot}, Kinds: KindSet{}.Insert(changed...)}
	c.Update(changes, c.now)
	c.reader.read = map[schema.GroupVersionKind]ReadSchema{}
	for _, gvk := range c.reader.asked {
		if !c.unanswered.Has(gvk) {
			c.reader.read[gvk] = ReadSchema{Schema: c.schemas[gvk], Definition: c.kinds[gvk].Definition, At: c.now}
		}
	}
	c.reader.asked = nil
	c.Update(Changes{Snapshots: changes.Snapshots}, c.now)
}

// report is the report on an origin, which has to be due, or to become due if only a kind is missing.
func (c *cluster) report(name string) source.Report {
	c.Helper()
	reports, _ := c.Reports(nil, nil, c.now)
	report, ok := reports[originOf(name)]
	if !ok && c.lacksKinds(name) {
		c.now = c.now.Add(GracePeriod)
		reports, _ = c.Reports(nil, nil, c.now)
		report, ok = reports[originOf(name)]
	}
	if !ok {
		c.Fatalf("no report on %s is due", name)
	}
	return report
}

// lacksKinds tells whether a rule of an origin lacks kinds, and nothing else.
func (c *cluster) lacksKinds(name string) bool {
	for _, r := range c.byName {
		if t := c.texts[r.text]; t != nil && t.origin == originOf(name) && r.lacksKinds() {
			return true
		}
	}
	return false
}

// textOf is a report as one text.
func textOf(report source.Report) string {
	text := report.Message
	for _, r := range report.Rules {
		text += "\n" + r.Name + ": " + r.Message
	}
	return text
}

// running is the hash of the revision of rule note that runs; empty: none does.
func (c *cluster) running() string {
	for _, rule := range c.Rules() {
		if rule.Name.Name == "note" && rule.Program != nil {
			return rule.Program.Hash
		}
	}
	return ""
}

// hashOf is the hash of the rule in a text; empty for no text.
func (c *cluster) hashOf(text string) string {
	c.Helper()
	if text == "" {
		return ""
	}
	docs, _ := syntax.Decode("text", []byte(text))
	if len(docs.Rules) != 1 {
		c.Fatalf("the text has %d rules", len(docs.Rules))
	}
	return docs.Rules[0].Hash()
}
