package app_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// The rule must say what the applies say, or engines would not do the same work.
func TestRuleSaysWhatAppliesSay(t *testing.T) {
	parent := app.New("bench", "web", "7", 0)
	children := parent.Children()
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
	if n := len(app.New("bench", "web", "7", 17).Children().ConfigMaps); n != 18 {
		t.Errorf("%d ConfigMaps, want 18", n)
	}
	if rule := app.Rule(true); !strings.Contains(rule, "id: extra") || strings.Contains(app.Rule(false), "id: extra") {
		t.Errorf("the rule for extra children:\n%s", rule)
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
