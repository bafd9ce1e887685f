package engine

import (
	"kanon.dev/kanon/engine/monitor"
)

// allNamespaces is the informer of Namespaces, the same for all who ask for their labels or
// whether they exist.
var allNamespaces = monitor.Key{GVR: namespacesGVR, Metadata: true} //nolint:gochecknoglobals // a constant in all but syntax
