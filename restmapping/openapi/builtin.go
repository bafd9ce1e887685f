package openapi

import (
	"bytes"
	"compress/gzip"
	_ "embed" // schemas.json.gz
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
