package scenariotest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// File is the name of the file with a scenario.
const File = "scenario.yaml"

// Scenario is a sequence of steps.
type Scenario struct {
	Steps []Step `json:"steps"`

	dir string // of the files that steps name
}

// Step changes something and awaits the effects, in the order of the fields.
type Step struct {
	// Name is a sentence on what the step shows.
	Name string `json:"name"`
	// Apply applies objects.
	Apply []Object `json:"apply,omitempty"`
	// Patch merges fields into existing objects; null removes a field.
	Patch []Object `json:"patch,omitempty"`
	// Status merges a status into objects, as their controllers do.
	Status []Object `json:"status,omitempty"`
	// Delete deletes objects, in the background.
	Delete []Object `json:"delete,omitempty"`
	// Await waits until objects have these fields. null means that the field is missing.
	Await  []Object `json:"await,omitempty"`
	Events []Event  `json:"events,omitempty"`
	// Gone waits until objects do not exist.
	Gone []Object `json:"gone,omitempty"`
	// Unchanged checks that objects are those of an earlier step, with the same spec and data.
	Unchanged []Object `json:"unchanged,omitempty"`
}

// Event is an awaited Event.
type Event struct {
	// About is the name of the object.
	About  string `json:"about"`
	Reason string `json:"reason"`
	// Message is a part of the message.
	Message string `json:"message,omitempty"`
	// Namespace is that of the Event; empty for that of the scenario. It is default for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
}

// Object is an object, or the name of a file with objects.
type Object struct{ text json.RawMessage }

// UnmarshalJSON keeps the text until the scenario is played.
func (o *Object) UnmarshalJSON(text []byte) error {
	o.text = bytes.Clone(text)
	return nil
}

// Read reads the scenario in a folder.
func Read(dir string) (*Scenario, error) {
	path := filepath.Join(dir, File)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a scenario: %w", err)
	}
	s := &Scenario{dir: dir}
	if err := yaml.UnmarshalStrict(data, s); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for i, step := range s.Steps {
		if step.Name == "" {
			return nil, fmt.Errorf("read %s: step %d has no name", path, i+1)
		}
	}
	return s, nil
}

// Objects returns the given objects, and those in the named files, for a scenario in a namespace.
func (s *Scenario) Objects(given []Object, namespace string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	add := func(text []byte) error {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(bytes.ReplaceAll(text, []byte("$NAMESPACE"), []byte(namespace))); err != nil {
			return err
		}
		if obj.GetAPIVersion() == "" || obj.GetName() == "" {
			return fmt.Errorf("an object needs apiVersion, kind and metadata.name, and one is %s", text)
		}
		objects = append(objects, obj)
		return nil
	}
	for _, object := range given {
		var file string
		if json.Unmarshal(object.text, &file) != nil {
			if err := add(object.text); err != nil {
				return nil, err
			}
			continue
		}
		documents, err := documentsOf(filepath.Join(s.dir, file))
		if err != nil {
			return nil, err
		}
		for _, text := range documents {
			if err := add(text); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return objects, nil
}

// documentsOf returns the documents of a YAML file, as JSON.
func documentsOf(path string) ([][]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read objects: %w", err)
	}
	var documents [][]byte
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		text, err := utilyaml.ToJSON([]byte(document))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if string(text) != "null" {
			documents = append(documents, text)
		}
	}
	if len(documents) == 0 {
		return nil, errors.New("read " + path + ": there is no object in it")
	}
	return documents, nil
}
