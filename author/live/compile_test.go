package live_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

const text = `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: web}
spec:
  parent: {apiVersion: v1, kind: ServiceAccount, selector: {matchLabels: {app: web}}}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}, data: {a: one}}
`

// there is a rule of a cluster with a text, or without one if that is empty.
func there(t *testing.T, name string, state live.State, text string) *live.Rule {
	t.Helper()
	rule := &live.Rule{
		Name: types.NamespacedName{Namespace: kanon, Name: name}, ID: mark.RuleID(kanon, kanon, name), State: state, Message: "it is so\nfor a reason",
		Record: &record.Record{
			Parents:  []record.Kind{{Version: "v1", Kind: "ServiceAccount"}},
			Children: []record.Kind{{Version: "v1", Kind: "Secret"}},
		},
	}
	if text == "" {
		return rule
	}
	rule.Text = source.Text{Name: "configmap/" + name, Data: []byte(strings.Replace(text, "name: web}\n", "name: "+name+"}\n", 1))}
	docs, _ := syntax.Decode(rule.Text.Name, rule.Text.Data)
	rule.Decoded = append(docs.Rules, docs.Partial...)[0]
	return rule
}

func check(t *testing.T) (*live.Compiler, *manifests.Checked) {
	t.Helper()
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	checked, err := manifests.Check(t.Context(), []manifests.File{{Name: "rule.yaml", Data: []byte(text)}}, nil, kinds, rules.Options{Namespace: kanon})
	if err != nil || checked.Findings.HasErrors() {
		t.Fatal(err, checked.Findings)
	}
	return &live.Compiler{Kinds: kinds, Namespace: kanon}, checked
}

func account(labels map[string]string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("ServiceAccount")
	object.SetNamespace("shop")
	object.SetName("front")
	object.SetLabels(labels)
	return object
}

func titles(all []*live.Rule) (names []string) {
	for _, rule := range all {
		names = append(names, rule.Name.Name)
	}
	return names
}

// A file stands for the rule of the cluster that has its name. Of rules without a text, the kind of parents counts.
func TestRules(t *testing.T) {
	t.Parallel()
	_, checked := check(t)
	file := there(t, "file", live.InFile, "")
	file.Origin.Path = "/rules/file.yaml"
	gone := there(t, "gone", live.Removing, "")
	other := there(t, "other", live.Running, strings.Replace(text, "app: web", "app: other", 1))
	set := &live.Rules{Namespace: kanon, All: []*live.Rule{there(t, "web", live.Running, text), file, gone, other}}
	set.Add(checked)
	if diff := cmp.Diff([]string{"file", "gone", "other", "web"}, titles(set.All)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"file", "web"}, titles(set.Selecting(account(map[string]string{"app": "web"}), nil))); diff != "" {
		t.Error(diff)
	}
	config := account(nil)
	config.SetKind("ConfigMap")
	if found := set.Selecting(config, nil); len(found) != 0 {
		t.Error(titles(found))
	}
}

// What is the matter with a rule is said whatever the parent.
func TestSummary(t *testing.T) {
	t.Parallel()
	inFile := there(t, "r", live.InFile, "")
	inFile.Origin.Path = "/rules/r.yaml"
	for name, test := range map[string]struct {
		rule     *live.Rule
		problems []string
		runs     bool
	}{
		"runs":      {there(t, "r", live.Running, text), nil, true},
		"suspended": {there(t, "r", live.Suspended, text), []string{"is suspended: Kanon changes nothing for it"}, true},
		"blocked":   {there(t, "r", live.PruneHeld, text), []string{"the prune guard blocks deletions; 'kanon confirm-prune r' allows them"}, true},
		"in a file": {inFile, []string{"is in the file /rules/r.yaml, which only Kanon's process has; name a copy with -f to see what it renders and why"}, false},
		"removed":   {there(t, "r", live.Removing, ""), []string{"it is so"}, false},
		"with a mistake": {there(t, "r", live.Refused, strings.Replace(text, "one", `"${nobody}"`, 1)), []string{
			"it is so", "for a reason", `configmap/r:8:107: error: unknown name "nobody"; to write ${nobody} as text, write $${nobody} [KN0204]`,
			"what follows is no more than which children exist: Kanon runs an earlier revision, or none",
		}, false},
		"an unknown field": {there(t, "r", live.Refused, text+"  parnts: {}\n"), []string{
			"it is so", "for a reason", `configmap/r:9:3: error: unknown field "parnts" in spec; parent is there already: move to it what belongs there, and remove parnts [KN0101]`,
			"what follows is no more than which children exist: Kanon runs an earlier revision, or none",
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compiler, _ := check(t)
			got, err := compiler.Summary(t.Context(), test.rule)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.problems, got.Problems); diff != "" {
				t.Error(diff)
			}
			if runs := got.Program != nil; runs != test.runs || len(got.Kinds) != 1 {
				t.Errorf("has a program: %t, want %t; kinds %v", runs, test.runs, got.Kinds)
			}
		})
	}
}
