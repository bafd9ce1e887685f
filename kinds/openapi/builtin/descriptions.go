package builtin

import (
	_ "embed" // descriptions.json.gz
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go test -run TestDescriptionsAreThoseOfTheControlPlane . -update

//go:embed descriptions.json.gz
var compressedDescriptions []byte

// descriptions are what the documents of the API server say about kinds and fields. They are apart from the schemas, because only
// who shows them to people needs them.
type descriptions struct {
	// Kinds are the components that kinds consist of, by group, version and kind as in "apps/v1, Kind=Deployment".
	Kinds      map[string]string               `json:"kinds"`
	Components map[string]map[string]described `json:"components"`
}

// described is a field of a component.
type described struct {
	Text string `json:"text,omitempty"`
	// Component is what the field, its items or its entries consist of; empty: of nothing that has fields.
	Component string `json:"component,omitempty"`
	// Map is true if the field has entries with any names.
	Map bool `json:"map,omitempty"`
}

var loadDescriptions = sync.OnceValues(func() (*descriptions, error) { //nolint:gochecknoglobals // decoded once, and never changed
	data, err := decompress(compressedDescriptions)
	if err != nil {
		return nil, fmt.Errorf("read the built-in descriptions: %w", err)
	}
	loaded := &descriptions{}
	if err := json.Unmarshal(data, loaded); err != nil {
		return nil, fmt.Errorf("read the built-in descriptions: %w", err)
	}
	return loaded, nil
})

// Description is what Kubernetes says about a field of a kind that is built in; empty if it says nothing. An empty step of the path
// is an item of a list. The descriptions are read at the first call. The error says that the embedded file is broken.
func Description(gvk schema.GroupVersionKind, path ...string) (string, error) {
	loaded, err := loadDescriptions()
	if err != nil {
		return "", err
	}
	at := described{Component: loaded.Kinds[gvk.String()]}
	for _, step := range path {
		switch {
		case step == "": // the item is what the list says that it consists of
			at.Text = ""
		case at.Map:
			at = described{Component: at.Component}
		default:
			at = loaded.Components[at.Component][step]
		}
	}
	return at.Text, nil
}
