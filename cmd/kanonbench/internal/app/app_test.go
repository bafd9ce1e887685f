package app_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// The rule must say what the applies say, or engines would not do the same work.
func TestRuleSaysWhatAppliesSay(t *testing.T) {
	parent := app.New(0, "bench", "web", "7", 0)
	children := parent.Children(0, 0)
	for _, child := range []any{children.ConfigMaps[0], children.Service, children.Deployment} {
		want := generic(t, child)
		delete(want["metadata"].(map[string]any), "ownerReferences")
		delete(want["metadata"].(map[string]any), "namespace")
		kind := want["kind"].(string)
		got := templateOf(t, kind)
		if a, b := canonical(t, want), canonical(t, got); a != b {
			t.Errorf("%s applied:\n%s\nby the rule:\n%s", kind, a, b)
		}
	}
}

func TestExtraChildren(t *testing.T) {
	if n := len(app.New(0, "bench", "web", "7", 17).Children(0, 0).ConfigMaps); n != 18 {
		t.Errorf("%d ConfigMaps, want 18", n)
	}
	if rule := app.Rules(1, true, 0); !strings.Contains(rule, "id: extra") || strings.Contains(app.Rules(1, false, 0), "id: extra") {
		t.Errorf("the rule for extra children:\n%s", rule)
	}
}

func TestKinds(t *testing.T) {
	var rules []string
	for text := range strings.SplitSeq(app.Rules(3, false, 0), "---\n") {
		var rule struct {
			Metadata struct{ Name string }
			Spec     struct{ Parent struct{ Kind string } }
		}
		if err := yaml.Unmarshal([]byte(text), &rule); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, rule.Metadata.Name+" of "+rule.Spec.Parent.Kind)
	}
	if want := []string{"app of App", "app1 of App1", "app2 of App2"}; !slices.Equal(rules, want) {
		t.Errorf("rules %q, want %q", rules, want)
	}
	var definition struct {
		Metadata struct{ Name string }
		Spec     struct{ Names map[string]string }
	}
	if err := yaml.Unmarshal([]byte(app.Definition(7)), &definition); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"kind": "App7", "plural": "apps7", "singular": "app7", "listKind": "App7List"}
	if definition.Metadata.Name != "apps7.bench.kanon.dev" || !maps.Equal(definition.Spec.Names, want) {
		t.Errorf("definition %s of %v", definition.Metadata.Name, definition.Spec.Names)
	}
}

func TestBulk(t *testing.T) {
	const size = 1000
	if n := len(app.New(0, "bench", "web", "7", 1).Children(0, size).ConfigMaps[0].Data[app.BulkKey]); n != size {
		t.Errorf("the ConfigMap's bulk has %d bytes, want %d", n, size)
	}
	if n := strings.Count(app.Rules(1, true, size), "x"); n < size || n > size+100 {
		t.Errorf("the rule has some %d bytes of bulk, want %d", n, size)
	}
}

// templateOf is the template of a kind in the rule, with the expressions that it
// has replaced by their values.
func templateOf(t *testing.T, kind string) map[string]any {
	t.Helper()
	text, err := os.ReadFile("rule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	replaced := strings.NewReplacer(
		`"${variables.labels}"`, `{bench.kanon.dev/app: web}`,
		`${variables.labels}`, `{bench.kanon.dev/app: web}`,
		`"${parent.metadata.name}"`, `web`,
		`${parent.metadata.name}`, `web`,
		`revision: ${parent.spec.revision}`, `revision: "7"`,
		`${parent.spec.revision}`, `7`,
	).Replace(string(text))
	var rule struct {
		Spec struct {
			Children []struct{ Template map[string]any }
		}
	}
	if err := yaml.Unmarshal([]byte(replaced), &rule); err != nil {
		t.Fatal(err)
	}
	for _, child := range rule.Spec.Children {
		if child.Template["kind"] == kind {
			return child.Template
		}
	}
	t.Fatalf("the rule has no %s", kind)
	return nil
}

func generic(t *testing.T, object any) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(canonical(t, object)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func canonical(t *testing.T, object any) string {
	t.Helper()
	text, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
