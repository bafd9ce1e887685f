package apply

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/wire"
)

// fingerprint is what AnnotationApplied records of a write.
type fingerprint struct {
	// value is the hash of everything rendered, without AnnotationApplied itself.
	value string
	// paths is the hash of the set of rendered paths. Without a schema it also covers the content of lists, because
	// whether the server tells their items apart is not known.
	paths string
	// content is the hash of what was rendered, where Policy.Content asks for it; else empty.
	content string
}

// formerText is what AnnotationApplied held before it had a mark: formerVersion and the hashes.
func (f fingerprint) formerText() string {
	text := formerVersion + "." + f.value + "." + f.paths
	if f.content != "" {
		text += "." + f.content
	}
	return text
}

// recorded reads the fingerprint of the last write from an object; ok is false where there is none.
func recorded(obj *unstructured.Unstructured) (f fingerprint, ok bool) {
	text, ok := metaString(obj, "annotations", AnnotationApplied)
	if !ok {
		return fingerprint{}, false
	}
	if m, ok := parseMark(text); ok {
		return m.fingerprint, true
	}
	parts := strings.Split(text, ".")
	if len(parts) < 3 || len(parts) > 4 || parts[0] != formerVersion {
		return fingerprint{}, false
	}
	f = fingerprint{value: parts[1], paths: parts[2]}
	if len(parts) == 4 {
		f.content = parts[3]
	}
	return f, true
}

// takeFingerprint computes hashes and paths of the child's object and writes AnnotationApplied into it.
func (w *Writer) takeFingerprint(c *Child) error {
	value, err := digest(c.Object.Object)
	if err != nil {
		return fmt.Errorf("hash %s: %w", c.Ref, err)
	}
	annotations := ensureMap(ensureMap(c.Object.Object, "metadata"), "annotations")
	annotations[AnnotationApplied] = "" // the path belongs to the set, the text does not belong to the hash
	paths, err := c.TakeShape(&w.shapes)
	if err != nil {
		return err
	}
	c.fingerprint.value, c.fingerprint.paths = value, paths
	if !c.isFormer {
		c.fingerprint.value, c.fingerprint.paths = c.fingerprint.value[:valueSize], c.fingerprint.paths[:pathsSize]
	}
	annotations[AnnotationApplied] = c.appliedText()
	return nil
}

// appliedText is the text of the child's AnnotationApplied.
func (c *Child) appliedText() string {
	if c.isFormer {
		return c.fingerprint.formerText()
	}
	m := c.mark
	m.fingerprint = c.fingerprint
	return m.String()
}

// listsOf keeps of a value only its maps' shape and its lists in full.
func listsOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			out[name] = listsOf(field)
		}
		return out
	case []any:
		return v
	default:
		return nil
	}
}

// digest is 128 bits of a SHA-256 over the JSON form of v, in which the keys of maps are sorted: the same value gives the
// same 22 characters in every process.
func digest(v any) (string, error) {
	text, err := wire.AppendJSON(make([]byte, 0, 2<<10), v) // enough for most
	if err != nil {
		return "", err
	}
	return hashOf(text), nil
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// marshalText is json.Marshal as a string.
func marshalText(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}
