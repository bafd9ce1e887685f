package mark

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Fingerprint is what AnnotationApplied records of a write.
type Fingerprint struct {
	// value is the hash of everything rendered, without AnnotationApplied itself.
	Value string
	// paths is the hash of the set of rendered paths. Without a schema it also covers the content of lists, because
	// whether the server tells their items apart is not known.
	Paths string
	// content is the hash of what was rendered, where Policy.Content asks for it; else empty.
	Content string
}

// Recorded reads the fingerprint of the last write from an object; ok is false where there is none.
func Recorded(obj *unstructured.Unstructured) (f Fingerprint, ok bool) {
	m, ok := markOf(obj)
	return m.Fingerprint, ok
}
