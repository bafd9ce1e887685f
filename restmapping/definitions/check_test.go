package definitions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/internal/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// definition is one whose schema, and what is beside it, a test says.
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: notes.checks.example.com}
spec:
  group: checks.example.com
  scope: Namespaced
  names: {kind: Note, plural: notes}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: %SCHEMA}}}}
`

// What is found here is what the API server says, and what it takes is without a problem.
func TestCheckIsTheAPIServers(t *testing.T) {
	t.Parallel()
	const at = "spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a"
	tests := map[string]struct {
		schema  string // of a field
		replace [2]string
		want    []string // the places
	}{
		"nothing wrong":           {schema: "{type: integer, default: 80}"},
		"a default of text":       {schema: "{type: integer, default: eighty}", want: []string{at + "/default"}},
		"no such type":            {schema: "{type: int}", want: []string{at + "/type"}},
		"type is no text":         {schema: "{type: 5}", want: []string{at + "/type"}},
		"unknown field":           {schema: "{type: string, maxLenght: 5}", want: []string{at + "/maxLenght"}},
		"no type":                 {schema: "{description: nothing}", want: []string{at}},
		"no items":                {schema: "{type: array}", want: []string{at}},
		"misfit in items":         {schema: "{type: array, items: {type: string, maxLength: no}}", want: []string{at + "/items/maxLength"}},
		"a rule that cannot be":   {schema: "{type: integer, x-kubernetes-validations: [{rule: self > 'a'}]}", want: []string{at + "/x-kubernetes-validations/0/rule"}},
		"a key of a list":         {schema: "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}}}}", want: []string{at + "/items/properties/name"}},
		"pruned and preserved":    {schema: "{type: object, x-kubernetes-preserve-unknown-fields: false}", want: []string{at + "/x-kubernetes-preserve-unknown-fields"}},
		"other name":              {schema: "{type: string}", replace: [2]string{"name: notes.", "name: note."}, want: []string{"metadata/name"}},
		"no storage":              {schema: "{type: string}", replace: [2]string{"storage: true", "storage: false"}, want: []string{"spec/versions"}},
		"no such scope":           {schema: "{type: string}", replace: [2]string{"Namespaced", "Namespace"}, want: []string{"spec/scope"}},
		"a short name in capital": {schema: "{type: string}", replace: [2]string{"plural: notes}", "plural: notes, shortNames: [N]}"}, want: []string{"spec/names/shortNames/0"}},
		"a column without a path": {schema: "{type: string}", replace: [2]string{"    served: true", "    served: true\n    additionalPrinterColumns: [{name: A, type: string, jsonPath: ''}]"}, want: []string{"spec/versions/0/additionalPrinterColumns/0/jsonPath"}},
		"a bad webhook":           {schema: "{type: string}", replace: [2]string{"  scope:", "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'http://x'}}}\n  scope:"}, want: []string{"spec/conversion/webhook/clientConfig/url"}},
		"two versions, alike":     {schema: "{type: string, default: 5}", replace: [2]string{"  - name: v1\n", "  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n  - name: v1\n"}, want: []string{strings.Replace(at, "/0/", "/1/", 1) + "/default"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(definition, "%SCHEMA", tc.schema)
			if tc.replace[0] != "" {
				text = strings.Replace(text, tc.replace[0], tc.replace[1], 1)
			}
			crd := read(t, []byte(text))
			var got []string
			problems := Check(t.Context(), crd)
			for _, p := range problems {
				got = append(got, strings.Join(p.Path, "/"))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%+v", diff, problems)
			}
			if err := tryCreate(t, crd); (err == nil) != (len(tc.want) == 0) {
				t.Errorf("the API server says %v", err)
			}
		})
	}
}

// The definition that Kanon brings along is without a problem.
func TestOwnDefinition(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "deploy", "base", "crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Check(t.Context(), read(t, data)) {
		t.Error(p.Message)
	}
}

func read(t *testing.T, text []byte) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := crd.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return crd
}

// tryCreate is why the API server would not create a definition; nil where it would.
func tryCreate(t *testing.T, crd *unstructured.Unstructured) error {
	t.Helper()
	client, err := dynamic.NewForConfig(controlplanetest.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Create(t.Context(), crd,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		t.Fatal(err)
	}
	return err
}
