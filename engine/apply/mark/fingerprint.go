package mark

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Fingerprint is what AnnotationApplied records about the last write.
type Fingerprint struct {
	// Value is the hash of everything rendered, without AnnotationApplied itself.
	Value string
	// Paths is the hash of the set of rendered paths. Without a schema it also covers the content of lists, because
	// it is unknown whether the server distinguishes their items.
	Paths string
	// Content is the hash of what was rendered, if Policy.Content asks for it; else empty.
	Content string
}

// FormerText is the content of AnnotationApplied before it had a mark: formerVersion and the hashes.
func (f Fingerprint) FormerText() string {
	text := formerVersion + "." + f.Value + "." + f.Paths
	if f.Content != "" {
		text += "." + f.Content
	}
	return text
}

// Recorded returns the fingerprint of the last write from an object.
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
