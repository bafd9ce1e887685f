package openapi

import (
	"bytes"
	"compress/gzip"
	_ "embed" // schemas.json.gz and what else is known of the built-in kinds
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

//go:generate go test -run TestSchemasAreThoseOfTheControlPlane . -update
//go:generate go test -run TestAlwaysSetFields . -update

//go:embed schemas.json.gz
var compressed []byte

var builtinKinds = sync.OnceValues(loadBuiltin) //nolint:gochecknoglobals // decoded once, and never changed

// BuiltinKinds returns the schemas of all built-in kinds. They are decoded at the first call. The error reports that the
// embedded file is broken.
func BuiltinKinds() (Kinds, error) { return builtinKinds() }

// Builtin looks up single schemas of Kinds, which are decoded at the first lookup.
type Builtin struct{}

// Schema returns the schema of a kind; nil if it is not built in.
func (Builtin) Schema(gvk schema.GroupVersionKind) *Schema {
	loaded, _ := BuiltinKinds() // a test reads the embedded file
	return loaded.Schema(gvk)
}

func loadBuiltin() (Kinds, error) {
	document, err := decompress(compressed)
	if err != nil {
		return nil, fmt.Errorf("read the built-in schemas: %w", err)
	}
	loaded, err := FromDocument(document)
	if err != nil {
		return nil, fmt.Errorf("read the built-in schemas: %w", err)
	}
	return loaded, nil
}

func decompress(data []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

// alwaysText has the fields that the API server always sets in objects of Kubernetes, although its documents give no
// default and do not require them. A line has the title of a schema and the names of its fields.
//
//go:embed always.txt
var alwaysText string

//nolint:gochecknoglobals // read once, and never changed
var alwaysSet = sync.OnceValue(func() map[string]sets.Set[string] {
	always := make(map[string]sets.Set[string])
	for line := range strings.Lines(alwaysText) {
		if fields := strings.Fields(line); len(fields) > 1 && !strings.HasPrefix(line, "#") {
			always[fields[0]] = sets.New(fields[1:]...)
		}
	}
	return always
})

func isAlwaysSet(title, field string) bool { return alwaysSet()[title].Has(field) }

//go:generate go test -run TestGenerations . -update

// generationsText lists the kinds of Kubernetes whose objects have metadata.generation, one a line.
//
//go:embed generations.txt
var generationsText string

var generations = sync.OnceValue(func() sets.Set[string] { //nolint:gochecknoglobals // read once, and never changed
	return sets.New(strings.Fields(generationsText)...)
})

// HasGeneration reports whether the API server sets metadata.generation in objects of one of Kubernetes' kinds. Objects
// of custom kinds always have it.
func HasGeneration(kind schema.GroupKind) bool { return generations().Has(kind.String()) }

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
