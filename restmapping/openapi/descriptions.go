package openapi

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

// descriptions are the texts about kinds and fields in the API server's documents. They are separate from the schemas,
// because only programs that show them to people need them.
type descriptions struct {
	// Kinds are the components of kinds, by group, version and kind as in "apps/v1, Kind=Deployment".
	Kinds      map[string]string               `json:"kinds"`
	Components map[string]map[string]described `json:"components"`
}

type described struct {
	Text string `json:"text,omitempty"`
	// Component is the component of the field, its items or its entries; empty if they have no fields.
	Component string `json:"component,omitempty"`
	// Map is true if the field is a map.
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

// Description is Kubernetes' text about a field of a built-in kind; empty if there is none. An empty step of the path
// is an item of a list. The descriptions are decoded at the first call. The error reports that the embedded file is
// broken.
func Description(gvk schema.GroupVersionKind, path ...string) (string, error) {
	loaded, err := loadDescriptions()
	if err != nil {
		return "", err
	}
	at := described{Component: loaded.Kinds[gvk.String()]}
	for _, step := range path {
		switch {
		case step == "": // the list names the component of its items
			at.Text = ""
		case at.Map:
			at = described{Component: at.Component}
		default:
			at = loaded.Components[at.Component][step]
		}
	}
	return at.Text, nil
}
