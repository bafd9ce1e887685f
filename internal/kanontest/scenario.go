package kanontest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// ScenarioFile is the name of the file with a scenario.
const ScenarioFile = "scenario.yaml"

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
	Apply []Given `json:"apply,omitempty"`
	// Patch merges fields into existing objects; null removes a field.
	Patch []Given `json:"patch,omitempty"`
	// Status merges a status into objects, as their controllers do.
	Status []Given `json:"status,omitempty"`
	// Delete deletes objects, in the background.
	Delete []Given `json:"delete,omitempty"`
	// Await waits until objects have these fields. null means that the field is missing.
	Await  []Given `json:"await,omitempty"`
	Events []Event `json:"events,omitempty"`
	// Gone waits until objects do not exist.
	Gone []Given `json:"gone,omitempty"`
	// Unchanged checks that objects are those of an earlier step, with the same spec and data.
	Unchanged []Given `json:"unchanged,omitempty"`
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

// Given is an object, or the name of a file with objects. It stays text until the scenario is played.
type Given = json.RawMessage

// ReadScenario reads the scenario in a folder.
func ReadScenario(dir string) (*Scenario, error) {
	path := filepath.Join(dir, ScenarioFile)
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
func (s *Scenario) Objects(given []Given, namespace string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, object := range given {
		file, text := "", []byte(object)
		if json.Unmarshal(text, &file) == nil {
			var err error
			if text, err = os.ReadFile(filepath.Join(s.dir, file)); err != nil {
				return nil, fmt.Errorf("read objects: %w", err)
			}
		}
		read, err := parse(bytes.ReplaceAll(text, []byte("$NAMESPACE"), []byte(namespace)))
		if err == nil && len(read) == 0 {
			err = errors.New("there is no object in it")
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", cmp.Or(file, "an object"), err)
		}
		objects = append(objects, read...)
	}
	return objects, nil
}
