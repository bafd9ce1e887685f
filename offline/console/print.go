package console

import (
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// Write writes the value as YAML, or with format json or yaml the whole result.
func (r *Result) Write(w io.Writer, format string) error {
	var text []byte
	var err error
	switch format {
	case "json":
		if text, err = json.MarshalIndent(r, "", "  "); err == nil {
			text = append(text, '\n')
		}
	case "yaml":
		text, err = yaml.Marshal(r)
	default:
		text, err = r.text()
	}
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		return fmt.Errorf("write the value: %w", err)
	}
	return nil
}

// text is the value as YAML; empty if there is none.
func (r *Result) text() ([]byte, error) {
	switch {
	case r.Absent || r.Waits != "" || r.Fails != "":
		return nil, nil
	case r.Hidden:
		return []byte("(hidden)\n"), nil
	}
	return yaml.Marshal(r.Value)
}

// About describes the value in one line.
func (r *Result) About() string {
	what := r.Type
	switch {
	case r.Hidden:
		what += ", which comes from a Secret"
	case r.Absent:
		what = "no value: in a template, the field would be left out"
	case r.Waits != "":
		what += ", which waits"
	case r.Fails != "":
		what += ", which fails"
	}
	return fmt.Sprintf("# %s; cost %d", what, r.Cost)
}
