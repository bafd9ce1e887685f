package openapi

import (
	_ "embed" // generations.txt
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

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
