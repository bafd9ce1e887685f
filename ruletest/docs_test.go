package ruletest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kanon.dev/kanon/ruletest"
)

// The recipes of docs/rules.md do over time what they promise. A test in testdata/recipes has the name of the heading.
func TestRecipes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	recipes := make(map[string]string) // the first rule below each heading
	for section := range strings.SplitSeq(string(page), "\n### ") {
		heading, text, _ := strings.Cut(section, "\n")
		_, rule, _ := strings.Cut(text, "```yaml rule\n")
		rule, _, _ = strings.Cut(rule, "```")
		recipes[strings.ReplaceAll(strings.ToLower(heading), " ", "-")] = rule
	}
	for _, file := range filesIn(t, "testdata/recipes/*_test.yaml") {
		name := strings.TrimSuffix(filepath.Base(file), "_test.yaml")
		if recipes[name] == "" {
			t.Errorf("docs/rules.md has no recipe %s", name)
			continue
		}
		test, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rule := "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: example}\nspec:\n" +
			"  parent: {apiVersion: shop.example.com/v1, kind: WebApp}\n  " + strings.ReplaceAll(recipes[name], "\n", "\n  ")
		dir := t.TempDir()
		for path, text := range map[string]string{name + ".yaml": rule, filepath.Base(file): string(test)} {
			if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		result := ruletest.Run(t.Context(), filepath.Join(dir, filepath.Base(file)), ruletest.Options{}, nil)
		if result.Failed() || len(result.Cases) == 0 {
			var text strings.Builder
			_ = ruletest.Printer{}.Print(&text, result)
			t.Error(text.String())
		}
	}
}
