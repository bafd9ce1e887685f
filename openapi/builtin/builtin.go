package builtin

import (
	"bytes"
	"compress/gzip"
	_ "embed" // schemas.json.gz
	"fmt"
	"io"
	"sync"

	"kanon.dev/kanon/openapi"
)

//go:generate go test -run TestSchemasAreThoseOfTheControlPlane . -update
//go:generate go test -run TestAlwaysSetFields . -update

//go:embed schemas.json.gz
var compressed []byte

var kinds = sync.OnceValues(load) //nolint:gochecknoglobals // decoded once, and never changed

// Kinds returns the schemas of all kinds that are built in, which are read at the
// first call. The error says that the embedded file is broken.
func Kinds() (openapi.Kinds, error) { return kinds() }

func load() (openapi.Kinds, error) {
	document, err := decompress(compressed)
	if err != nil {
		return nil, fmt.Errorf("read the built-in schemas: %w", err)
	}
	loaded, err := openapi.FromDocument(document)
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
