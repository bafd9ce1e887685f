package openapi

import (
	_ "embed" // always.txt
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

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
