package rules_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/openapi/builtin"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// There is nothing to find in an example, with the schemas of all that it names.
func TestExamplesHaveNoFindings(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("..", "examples", "*", "rule.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			docs, findings := syntax.Decode(path, data)
			schemas := exampleSchemas(t, filepath.Join(filepath.Dir(path), "crd.yaml"))
			for _, rule := range slices.Concat(docs.Rules, docs.Partial) {
				_, more := rules.Compile(rule, rules.Options{Schemas: schemas})
				findings = append(findings, more...)
			}
			for _, f := range findings {
				t.Error(f)
			}
		})
	}
}

// exampleSchemas are the built-in schemas and that of a definition, if there is one.
func exampleSchemas(t *testing.T, definition string) openapi.Kinds {
	t.Helper()
	native, err := builtin.Kinds()
	if err != nil {
		t.Fatal(err)
	}
	schemas := maps.Clone(native)
	data, err := os.ReadFile(definition)
	if os.IsNotExist(err) {
		return schemas
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &crd.Object); err != nil {
		t.Fatal(err)
	}
	kinds, err := openapi.FromCRD(crd)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(schemas, kinds)
	return schemas
}
