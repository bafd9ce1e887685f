package preview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

func programOf(t *testing.T, spec string) *program.Program {
	t.Helper()
	text := "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec:\n" + spec
	docs, findings := syntax.Decode("rule.yaml", []byte(text))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	p, findings := rules.Compile(docs.Rules[0], rules.Options{})
	if p == nil {
		t.Fatal(findings)
	}
	return p
}

func evaluate(t *testing.T, in preview.Input) *preview.Preview {
	t.Helper()
	p, err := preview.Evaluate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const shop = `
apiVersion: shop.example.com/v1
kind: Shop
metadata: {name: corner, namespace: team-a, labels: {tier: web}}
spec: {url: "http://${x}"}`

// Whether a rule is for a parent, by all that a rule can say of that.
func TestUnmatched(t *testing.T) {
	t.Parallel()
	namespace := `{apiVersion: v1, kind: Namespace, metadata: {name: team-a, labels: {env: prod}}}`
	tests := map[string]struct {
		parent string // below spec.parent
		with   []string
		want   string
	}{
		"nothing said":             {},
		"selector":                 {parent: "selector: {matchLabels: {tier: web}}"},
		"selector, other":          {parent: "selector: {matchLabels: {tier: db}}", want: "spec.parent.selector does not match its labels"},
		"namespaces":               {parent: "namespaces: [team-b, team-a]"},
		"namespaces, other":        {parent: "namespaces: [team-b]", want: "spec.parent.namespaces does not have team-a"},
		"namespaceSelector":        {parent: "namespaceSelector: {matchLabels: {env: prod}}", with: []string{namespace}},
		"namespaceSelector, other": {parent: "namespaceSelector: {matchLabels: {env: dev}}", with: []string{namespace}, want: "spec.parent.namespaceSelector does not match the labels of Namespace team-a"},
		"namespaceSelector, none":  {parent: "namespaceSelector: {matchLabels: {env: dev}}", want: "spec.parent.namespaceSelector needs the Namespace team-a, which is not given"},
		"when":                     {parent: "when: ${parent.metadata.name == 'corner'}"},
		"when, other":              {parent: "when: ${parent.metadata.name == 'x'}", want: "spec.parent.when is false"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := "  parent:\n    apiVersion: shop.example.com/v1\n    kind: Shop\n"
			if tc.parent != "" {
				spec += "    " + tc.parent + "\n"
			}
			in := preview.Input{Program: programOf(t, spec), Parent: object(t, shop), Now: time.Now()}
			for _, text := range tc.with {
				in.With = append(in.With, object(t, text))
			}
			if diff := cmp.Diff(tc.want, evaluate(t, in).Unmatched); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What is given is only read, and text of objects is never taken for an expression.
func TestInputIsOnlyRead(t *testing.T) {
	t.Parallel()
	spec := `
  parent: {apiVersion: shop.example.com/v1, kind: Shop}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {url: "${parent.spec.url}"}
  status: {url: "${children.config.data.url}", note: "${children.config.data.note}"}`
	config := object(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: corner
  namespace: team-a
  ownerReferences: [{apiVersion: shop.example.com/v1, kind: Shop, name: corner, controller: true}]
data: {url: old, note: "$${y} ${z}"}`)
	parent, before, beforeParent := object(t, shop), config.DeepCopy(), object(t, shop)
	p := evaluate(t, preview.Input{
		Program: programOf(t, spec), Parent: parent, With: []*unstructured.Unstructured{config}, Now: time.Now(),
	})
	if diff := cmp.Diff(map[string]any{"url": "http://${x}", "note": "$${y} ${z}"}, p.Result.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	var text strings.Builder
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "url: http://${x}") {
		t.Errorf("not as it is:\n%s", text.String())
	}
	if diff := cmp.Diff([]*unstructured.Unstructured{before, beforeParent}, []*unstructured.Unstructured{config, parent}); diff != "" {
		t.Errorf("what was given changed (-before +after):\n%s", diff)
	}
}

// A parent that is written by hand has the metadata that the API server would set.
func TestMetadataOfAWrittenParent(t *testing.T) {
	t.Parallel()
	const spec = `
  parent: {apiVersion: shop.example.com/v1, kind: Shop}
  status:
    observedGeneration: ${parent.metadata.generation}
    uid: ${parent.metadata.uid}
    version: ${parent.metadata.resourceVersion}
    created: ${parent.metadata.creationTimestamp}`
	now := time.Date(2026, 3, 5, 6, 0, 0, 0, time.UTC)
	p := evaluate(t, preview.Input{Program: programOf(t, spec), Parent: object(t, shop), Now: now})
	want := map[string]any{"observedGeneration": int64(1), "uid": "00000000-0000-0000-0000-000000000001", "version": "1", "created": "2026-03-05T06:00:00Z"}
	if diff := cmp.Diff(want, p.Result.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// What is left to others keeps the value that it has, for those who read the child; what
// is not there yet comes as it is made.
func TestIgnoredFieldsStay(t *testing.T) {
	t.Parallel()
	const spec = `
  parent: {apiVersion: shop.example.com/v1, kind: Shop}
  children:
  - id: web
    ignore:
    - spec.template.spec.containers[name=web].image
    - spec.paused
    - {path: spec.replicas, when: "${has(parent.metadata.labels.tier)}"}
    - {path: spec.minReadySeconds, when: "${has(parent.metadata.labels.other)}"}
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${parent.metadata.name}"}
      spec:
        replicas: 1
        minReadySeconds: 1
        paused: true
        template: {spec: {containers: [{name: web, image: "web:1"}, {name: new, image: "new:1"}]}}
  status:
    replicas: ${children.web.spec.replicas}
    seconds: ${children.web.spec.minReadySeconds}
    paused: ${has(children.web.spec.paused)}
    images: ${children.web.spec.template.spec.containers.map(c, c.image)}`
	live := object(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: corner
  namespace: team-a
  ownerReferences: [{apiVersion: shop.example.com/v1, kind: Shop, name: corner, controller: true}]
spec: {replicas: 7, minReadySeconds: 7, template: {spec: {containers: [{name: web, image: "web:7"}]}}}`)
	tests := map[string]struct {
		with []*unstructured.Unstructured
		want map[string]any
	}{
		"made": {nil, map[string]any{"replicas": int64(1), "seconds": int64(1), "paused": true, "images": []any{"web:1", "new:1"}}},
		"there already": {
			[]*unstructured.Unstructured{live},
			map[string]any{"replicas": int64(7), "seconds": int64(1), "paused": false, "images": []any{"web:7", "new:1"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := evaluate(t, preview.Input{Program: programOf(t, spec), Parent: object(t, shop), With: tc.with, Now: time.Now()})
			if diff := cmp.Diff(tc.want, p.Result.Status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}
