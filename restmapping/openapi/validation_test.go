package openapi

import (
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/restmapping"
)

// What rules/check finds in a template, the API server refuses, and it takes the templates in which nothing is found.
func TestValidationIsTheAPIServers(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../rules/check/testdata/templates.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table, err := restmapping.LoadBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	config := controlplanetest.Config(t)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	namespace := controlplanetest.Namespace(t, config)
	documents := strings.Split(string(data), "---\n")
	if len(documents) < 25 {
		t.Fatalf("there are %d templates", len(documents))
	}
	for _, document := range documents {
		_, rest, _ := strings.Cut(document, "# want:")
		want, _, _ := strings.Cut(rest, "\n")
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		kind, ok := table.Lookup(object.GroupVersionKind())
		if !ok {
			t.Fatalf("no kind %s", object.GroupVersionKind())
		}
		_, err := client.Resource(kind.GVR).Namespace(namespace).Create(t.Context(), object, metav1.CreateOptions{
			DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
		})
		if refused := strings.TrimSpace(want) != ""; (err != nil) != refused || refused && !apierrors.IsInvalid(err) {
			t.Errorf("the API server says %v of\n%s", err, document)
		}
	}
}
