package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Every object has the label by which Kanon recognises the objects of its own installation, which no rule may write.
func TestOwnLabel(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"base/*.yaml", "components/*/*.yaml", "install.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	objects := 0
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &obj.Object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if obj.GetName() == "" {
				continue // comments only
			}
			objects++
			if obj.GetLabels()["app.kubernetes.io/name"] != "kanon" {
				t.Errorf("%s: %s %s does not have the label app.kubernetes.io/name: kanon", file, obj.GetKind(), obj.GetName())
			}
		}
	}
	if objects < 20 {
		t.Errorf("only %d objects were found", objects)
	}
}
