package openapi

import (
	_ "embed" // always.txt
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// alwaysText has, for each object of the API of Kubernetes, the fields that the API server sees to, of which its documents say
// neither that they are required nor what their default is. A line is the title of a schema and the names of its fields.
//
//go:embed always.txt
var alwaysText string

//nolint:gochecknoglobals // Read once, and never changed.
var alwaysSet = sync.OnceValue(func() map[string]sets.Set[string] {
	always := make(map[string]sets.Set[string])
	for line := range strings.Lines(alwaysText) {
		if fields := strings.Fields(line); len(fields) > 1 && !strings.HasPrefix(line, "#") {
			always[fields[0]] = sets.New(fields[1:]...)
		}
	}
	return always
})

// isAlwaysSet says whether every object of Kubernetes with a schema of that title has the field.
func isAlwaysSet(title, field string) bool { return alwaysSet()[title].Has(field) }
