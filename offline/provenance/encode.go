package provenance

import (
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// WriteJSON writes the explanation as JSON.
func (e *Explanation) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(e); err != nil {
		return fmt.Errorf("write the explanation as JSON: %w", err)
	}
	return nil
}

// WriteYAML writes the explanation as YAML, with the fields of the JSON.
func (e *Explanation) WriteYAML(w io.Writer) error {
	text, err := yaml.Marshal(e)
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		return fmt.Errorf("write the explanation as YAML: %w", err)
	}
	return nil
}
