package mark

import (
	"strings"

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

// FormerText is what AnnotationApplied held before it had a mark: formerVersion and the hashes.
func (f Fingerprint) FormerText() string {
	text := formerVersion + "." + f.Value + "." + f.Paths
	if f.Content != "" {
		text += "." + f.Content
	}
	return text
}

// Recorded reads the fingerprint of the last write from an object; ok is false where there is none.
func Recorded(obj *unstructured.Unstructured) (f Fingerprint, ok bool) {
	text, ok := MetadataString(obj, "annotations", AnnotationApplied)
	if !ok {
		return Fingerprint{}, false
	}
	if m, ok := ParseMark(text); ok {
		return m.Fingerprint, true
	}
	parts := strings.Split(text, ".")
	if len(parts) < 3 || len(parts) > 4 || parts[0] != formerVersion {
		return Fingerprint{}, false
	}
	f = Fingerprint{Value: parts[1], Paths: parts[2]}
	if len(parts) == 4 {
		f.Content = parts[3]
	}
	return f, true
}
