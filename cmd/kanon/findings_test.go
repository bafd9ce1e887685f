package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
)

// parents defines the kinds that the examples name.
const parents = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webapps.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: WebApp, plural: webapps}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        required: [spec]
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              replicas: {type: integer, default: 1}
              serviceType: {type: string}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Fleet, plural: fleets}
  scope: Cluster
  versions:
  - name: v1
    served: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: meters.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Meter, plural: meters}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {value: {type: integer}}}}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: notes.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Note, plural: notes}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: legacies.shop.example.com}
spec:
  {group: shop.example.com, names: {kind: Legacy, plural: legacies}, scope: Namespaced, versions: [{name: v1, served: true}]}
`

// explained is one code in docs/reference/findings.
type explained struct {
	code, title, wrong, right string
}

// TestFindingsAreExplained holds that docs/reference/findings explains every code, by
// the title that the table has, and that its examples are what it says.
func TestFindingsAreExplained(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "reference", "findings", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	var all []explained
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(page) != "README.md" {
			all = append(all, explanations(t, string(data))...)
		}
	}
	slices.SortFunc(all, func(a, b explained) int { return strings.Compare(a.code, b.code) })
	var want, got []string
	for _, info := range diagnostic.Codes() {
		want = append(want, string(info.Code)+": "+info.Title)
	}
	for _, e := range all {
		got = append(got, e.code+": "+e.title)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the headings of docs/reference/findings (-want +got):\n%s", diff)
	}
	for _, e := range all {
		t.Run(e.code, func(t *testing.T) {
			t.Parallel()
			switch diagnostic.Code(e.code) {
			case diagnostic.CodeEnvironment, diagnostic.CodeHeldCRD: // no input can cause it, without a cluster
				return
			case diagnostic.CodeBeyond, diagnostic.CodeUntrusted, diagnostic.CodeTooManyRules: // those are about rules of tenants
				return
			case diagnostic.CodeMoreErrors, diagnostic.CodeMoreWarnings, diagnostic.CodeTooManyDocs: // an example would be too long
				return
			}
			if e.wrong == "" || e.right == "" {
				t.Fatal("there is no example")
			}
			found := exampleFindings(t, diagnostic.Code(e.code), e.wrong)
			if len(found) == 0 {
				t.Error("nothing is found in the wrong example")
			}
			for _, f := range found {
				if string(f.Code) != e.code {
					t.Errorf("the wrong example gives %s", f)
				}
			}
			for _, f := range exampleFindings(t, diagnostic.Code(e.code), e.right) {
				t.Errorf("the right example gives %s", f)
			}
		})
	}
}

func explanations(t *testing.T, text string) []explained {
	t.Helper()
	var all []explained
	for _, section := range regexp.MustCompile(`(?m)^### `).Split(text, -1)[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		e := explained{}
		e.code, e.title, _ = strings.Cut(heading, ": ")
		blocks := regexp.MustCompile("(?s)\n(Wrong|Right):\n\n```yaml\n(.*?)```").FindAllStringSubmatch(body, -1)
		for _, b := range blocks {
			if b[1] == "Wrong" {
				e.wrong = b[2]
			} else {
				e.right = b[2]
			}
		}
		all = append(all, e)
	}
	return all
}

// exampleFindings checks an example as a key of a ConfigMap that has the label of
// rules, so that everything in it counts. What kubectl makes of a file is found in a file.
func exampleFindings(t *testing.T, code diagnostic.Code, example string) diagnostic.Findings {
	t.Helper()
	if !regexp.MustCompile(`(?m)^(- )?(apiVersion|kind):`).MatchString(example) {
		if !strings.HasPrefix(example, "parent:") {
			example = "parent: {apiVersion: shop.example.com/v1, kind: WebApp}\n" + example
		}
		example = "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: example}\nspec:\n" + indent(example, "  ")
	}
	text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules, labels: {kanon.dev/rules: \"true\"}}\ndata:\n  rule.yaml: |\n%s", indent(example, "    "))
	if code == diagnostic.CodeBooleanWord {
		text = example
	}
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	c, err := manifests.Check(t.Context(), []manifests.File{{Name: "rule.yaml", Data: []byte(text)}}, []manifests.File{{Name: "crds.yaml", Data: []byte(parents)}}, kinds, rules.Options{Namespace: engine.DefaultNamespace})
	if err != nil {
		t.Fatal(err)
	}
	return c.Findings
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}
