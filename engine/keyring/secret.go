package keyring

import (
	"encoding/base64"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// SecretName is the name of the Secret with the keys.
	SecretName = "kanon-keys"
	// AnnotationRotate asks, with any value, for a new key. It is removed once there is one.
	AnnotationRotate = "kanon.dev/rotate"

	// currentEntry in the Secret's data is the id of the key that seals. sinceEntry is when the first key was
	// created, if that was before the Secret was. All other entries are keys, by id.
	currentEntry = "current"
	sinceEntry   = "since"
	// formatEntry is reserved for a later version that stores keys differently. No version writes it yet.
	formatEntry = "format"
	// maxKeys is the number of keys with which a rotation adds no other one. A Secret with more can be read: earlier
	// versions could write one.
	maxKeys = 32
)

// fromSecret reads a ring from a Secret.
func fromSecret(secret *unstructured.Unstructured) (*Keyring, error) {
	data, _, err := unstructured.NestedStringMap(secret.Object, "data")
	if err != nil {
		return nil, err
	}
	since := secret.GetCreationTimestamp().Time
	keys, current := make(map[string][]byte, len(data)), ""
	for name, text := range data {
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", name, err)
		}
		switch name {
		case formatEntry:
			return nil, fmt.Errorf("a newer version of Kanon wrote it: it has format %q, which this version does not know; run that version again", value)
		case currentEntry:
			current = string(value)
		case sinceEntry:
			earlier, err := time.Parse(time.RFC3339, string(value))
			if err != nil {
				return nil, fmt.Errorf("entry %q: %w", name, err)
			}
			if earlier.Before(since) {
				since = earlier
			}
		default:
			keys[name] = value
		}
	}
	return New(since, current, keys)
}

// Secrets returns the entries of a Secret's data that are confidential.
func Secrets(data map[string]any) map[string]any {
	secret := maps.Clone(data)
	for _, entry := range []string{currentEntry, sinceEntry, formatEntry} {
		delete(secret, entry)
	}
	return secret
}

// data returns the data of the ring's Secret.
func (r *Keyring) data() map[string]any {
	data := map[string]any{currentEntry: encode([]byte(r.current))}
	for id, secret := range r.secrets() {
		data[id] = encode(secret)
	}
	if !r.since.IsZero() {
		data[sinceEntry] = encode([]byte(r.since.UTC().Format(time.RFC3339)))
	}
	return data
}

func encode(value []byte) string { return base64.StdEncoding.EncodeToString(value) }

// newSecretObject returns a new Secret with the ring.
func (r *Keyring) newSecretObject(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"name": SecretName, "namespace": namespace},
		"data":     r.data(),
	}}
}

// rotated returns a copy of a Secret with one more key, which seals, and without AnnotationRotate. The error is
// errFull if the ring has no room for another key.
func (r *Keyring) rotated(secret *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	next, err := r.Rotate()
	if err != nil {
		return nil, err
	}
	object := withoutRotation(secret)
	object.Object["data"] = next.data()
	return object, nil
}

// withoutRotation returns a copy of a Secret without AnnotationRotate.
func withoutRotation(secret *unstructured.Unstructured) *unstructured.Unstructured {
	object := secret.DeepCopy()
	annotations := maps.Clone(object.GetAnnotations())
	delete(annotations, AnnotationRotate)
	object.SetAnnotations(annotations)
	return object
}

func wantsRotation(secret *unstructured.Unstructured) bool {
	_, ok := secret.GetAnnotations()[AnnotationRotate]
	return ok
}
