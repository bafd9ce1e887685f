package kanontest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// ReadManifest reads the objects of a YAML file, which may have several documents. A file without an object fails the
// test.
func ReadManifest(tb testing.TB, path string) []*unstructured.Unstructured {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("read objects: %v", err)
	}
	return Objects(tb, path, data)
}

// Objects reads the objects of YAML documents. name names their source. No object fails the test.
func Objects(tb testing.TB, name string, data []byte) []*unstructured.Unstructured {
	tb.Helper()
	objects, err := parse(data)
	if err != nil {
		tb.Fatalf("read %s: %v", name, err)
	}
	if len(objects) == 0 {
		tb.Fatalf("read %s: there is no object in it", name)
	}
	return objects
}

// OfKind returns the objects of a kind.
func OfKind(kind string, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() != kind })
}

// Object makes an object of one YAML document.
func Object(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	objects, err := parse([]byte(text))
	if err != nil || len(objects) != 1 {
		tb.Fatalf("read an object: found %d in %s: %v", len(objects), text, err)
	}
	return objects[0]
}

func parse(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, err
		}
		if string(text) == "null" {
			continue // only comments
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(text); err != nil {
			return nil, err
		}
		if obj.GetAPIVersion() == "" || obj.GetName() == "" {
			return nil, fmt.Errorf("an object needs apiVersion, kind and metadata.name, and one is %s", text)
		}
		objects = append(objects, obj)
	}
}
