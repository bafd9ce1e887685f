package fieldset

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/util/managedfields"

	"kanon.dev/kanon/engine/watch"
)

// listsOf reduces a value to the structure of its maps, and its lists in full.
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

// Digest returns 128 bits of a SHA-256 over the JSON form of v with sorted keys: the same value gives the same 22
// characters in every process.
func Digest(v any) (string, error) {
	buffer, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text, err := watch.AppendJSON((*buffer)[:0], v)
	if err != nil {
		return "", err
	}
	*buffer = text
	return hashOf(text), nil
}

// buffers are for texts that are only hashed.
//
//nolint:gochecknoglobals // A pool is for all who use it.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// MarshalText is json.Marshal that returns a string.
func MarshalText(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// Hasher hashes JSON values of unstructured objects.
type Hasher struct{ Seed maphash.Seed }

// Value hashes v. The order of a map's keys makes no difference, because the hashes of its entries are added up.
func (h Hasher) Value(v any) uint64 {
	switch v := v.(type) {
	case map[string]any:
		sum := maphash.Comparable(h.Seed, [...]int{1, len(v)})
		for name, field := range v {
			sum += h.Join(maphash.String(h.Seed, name), h.Value(field))
		}
		return sum
	case []any:
		sum := maphash.Comparable(h.Seed, [...]int{2, len(v)})
		for _, item := range v {
			sum = h.Join(sum, h.Value(item))
		}
		return sum
	case nil:
		return maphash.Comparable(h.Seed, [...]int{3, 0})
	case string:
		return maphash.String(h.Seed, v)
	default:
		return maphash.Comparable(h.Seed, v)
	}
}

// Join hashes two hashes in order.
func (h Hasher) Join(a, b uint64) uint64 {
	return maphash.Comparable(h.Seed, [...]uint64{a, b})
}

// Source identifies what something was made from: a hash, and the schema of its kind. The zero Source stands for
// unknown.
type Source struct {
	Hash      uint64
	Converter managedfields.TypeConverter
}
