package ruletest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kanon.dev/kanon/author/ruletest"
)

// webApps defines the parents of the examples in docs/reference, with any fields.
const webApps = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webapps.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: WebApp, plural: webapps}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        properties:
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties: {conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// The recipes in docs/reference and docs/cookbook.md do over time what the page says. A file NAME_test.yaml has the cases of the rule below the heading
// of that name.
func TestRecipes(t *testing.T) {
	t.Parallel()
	pages := referencePages(t)
	for _, file := range filesIn(t, "testdata/recipes/*_test.yaml") {
		name := strings.TrimSuffix(filepath.Base(file), "_test.yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cases, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{"crd.yaml": webApps, name + ".yaml": recipe(t, pages, name), name + "_test.yaml": string(cases)} {
				if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			result := ruletest.Run(t.Context(), filepath.Join(dir, name+"_test.yaml"), ruletest.Options{}, nil)
			if result.Failed() || len(result.Cases) == 0 {
				var text strings.Builder
				_ = ruletest.Printer{}.Print(&text, result)
				t.Error(text.String())
			}
		})
	}
}

// referencePages is the text of the pages about the fields of a rule, and of the cookbook.
func referencePages(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, path := range append(filesIn(t, "../../docs/reference/*.md"), "../../docs/cookbook.md") {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(page)
	}
	return text.String()
}

// recipe is the rule below a heading, which is given as its anchor.
func recipe(t *testing.T, pages, anchor string) string {
	t.Helper()
	var below string
	for section := range strings.SplitSeq(pages, "## ") {
		if heading, text, _ := strings.Cut(section, "\n"); strings.NewReplacer(" ", "-", "?", "").Replace(strings.ToLower(heading)) == anchor {
			below = text
		}
	}
	_, rest, hasRule := strings.Cut(below, "```yaml rule\n")
	spec, _, _ := strings.Cut(rest, "```\n")
	if !hasRule {
		t.Fatalf("docs/reference has no recipe %s", anchor)
	}
	spec = "parent: {apiVersion: shop.example.com/v1, kind: WebApp}\n" + spec
	return "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: recipe}\nspec:\n  " + strings.TrimSpace(strings.ReplaceAll(spec, "\n", "\n  ")) + "\n"
}

// What docs/testing.md says of what assertions read is so: the examples in its tables are true at the end of its test.
func TestWhatAssertionsRead(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## What `that` reads\n")
	section, _, _ = strings.Cut(section, "\n## ")
	block := func(info string) string {
		_, rest, _ := strings.Cut(section, "```"+info+"\n")
		text, _, _ := strings.Cut(rest, "```\n")
		return text
	}
	examples := regexp.MustCompile("(?m)^\\| .* \\| `(.*)` \\|$").FindAllStringSubmatch(section, -1)
	if rows := strings.Count(section, "\n| ") - 2*strings.Count(section, "\n| --- "); len(examples) != rows || rows < 20 {
		t.Fatalf("%d of %d rows have an example", len(examples), rows)
	}
	var cases strings.Builder
	cases.WriteString(block("yaml test") + "        expect:\n          that:\n")
	for _, example := range examples {
		cases.WriteString("            - |-\n              " + example[1] + "\n")
	}
	dir := t.TempDir()
	crd := strings.NewReplacer("shop.example.com", "example.com", "WebApp", "Shop", "webapps", "shops").Replace(webApps)
	for path, text := range map[string]string{"crd.yaml": crd, "rule.yaml": block("yaml rule"), "rule_test.yaml": cases.String()} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	result := ruletest.Run(t.Context(), filepath.Join(dir, "rule_test.yaml"), ruletest.Options{}, nil)
	if result.Failed() || len(result.Cases) != 1 {
		var text strings.Builder
		_ = ruletest.Printer{}.Print(&text, result)
		t.Error(text.String())
	}
}
