package keyring

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"hash"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// keySize is the size of a key in bytes: that of the digest, beyond which HMAC gains nothing (RFC 2104, section
	// 3).
	keySize = sha256.Size
	// idSize is the number of characters in the id of a key. An id only selects a key.
	idSize = 4
	// digestSize is how many bytes of the HMAC a seal has: 96 bits, as in RFC 2404. Guessing seals takes a write to
	// the cluster for each attempt.
	digestSize = 12
)

// SealSize is the number of characters in a seal: the key's id, and the digest as base64.
const SealSize = idSize + digestSize*4/3

// Verdict says what a seal proves.
type Verdict int

// The verdicts of Check.
const (
	// Forged: the ring has the key that the seal names, but the seal does not belong to the statement.
	Forged Verdict = iota
	// Unknown: the ring lacks the key that the seal names. The key may have been lost.
	Unknown
	// Outdated: the seal belongs to the statement, under the previous key.
	Outdated
	// Current: the seal belongs to the statement, under the key that currently seals.
	Current
)

// Proves reports whether the seal belongs to the statement.
func (v Verdict) Proves() bool { return v == Outdated || v == Current }

// Keyring is the key that seals, and the one that did before. It is immutable and safe for concurrent use.
type Keyring struct {
	current *key
	// previous is nil until the first rotation.
	previous *key
}

// key is one key, with a pool of hashes keyed with it.
type key struct {
	id     string
	secret []byte
	macs   sync.Pool
}

func newKey(secret []byte) (*key, error) {
	if len(secret) != keySize {
		return nil, fmt.Errorf("a key has %d bytes, not %d", len(secret), keySize)
	}
	// The id reveals nothing about the key that seals do not reveal.
	sum := sha256.Sum256(append([]byte("id of "), secret...))
	k := &key{id: base64.RawURLEncoding.EncodeToString(sum[:])[:idSize], secret: slices.Clone(secret)}
	k.macs.New = func() any { return hmac.New(sha256.New, k.secret) }
	return k, nil
}

// Of returns a ring of one key. It fails if the secret has the wrong length.
func Of(secret []byte) (*Keyring, error) {
	current, err := newKey(secret)
	return &Keyring{current: current}, err
}

// Generate returns a ring of one new key.
func Generate() (*Keyring, error) {
	secret := make([]byte, keySize)
	_, _ = rand.Read(secret) // never fails
	return Of(secret)
}

// Rotate returns a ring with a new key, whose previous key is the current one of r.
func (r *Keyring) Rotate() (*Keyring, error) {
	for {
		next, err := Generate()
		if err != nil || next.current.id != r.current.id {
			next.previous = r.current
			return next, err
		}
	}
}

// CurrentID returns the id of the key that seals.
func (r *Keyring) CurrentID() string { return r.current.id }

// Seal returns the seal of a statement: the id of the key and a digest, SealSize characters that are valid in
// annotations.
func (r *Keyring) Seal(statement string) string { return r.current.id + r.current.digest(statement) }

// Check returns what a seal proves about a statement.
func (r *Keyring) Check(statement, seal string) Verdict {
	if len(seal) != SealSize {
		return Forged
	}
	k, proven := r.current, Current
	if r.previous != nil && seal[:idSize] == r.previous.id {
		k, proven = r.previous, Outdated
	}
	switch {
	case seal[:idSize] != k.id:
		return Unknown
	case subtle.ConstantTimeCompare([]byte(k.digest(statement)), []byte(seal[idSize:])) == 0:
		return Forged
	}
	return proven
}

func (k *key) digest(statement string) string {
	mac, _ := k.macs.Get().(hash.Hash)
	defer k.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte(statement))
	var sum [sha256.Size]byte
	return base64.RawURLEncoding.EncodeToString(mac.Sum(sum[:0])[:digestSize])
}

// equal reports whether two rings have the same keys: equal ids mean equal keys.
func (r *Keyring) equal(other *Keyring) bool {
	same := func(a, b *key) bool { return a == b || a != nil && b != nil && a.id == b.id }
	return same(r.current, other.current) && same(r.previous, other.previous)
}

const (
	// SecretName is the name of the Secret with the keys.
	SecretName = "kanon-keys"
	// AnnotationRotate asks, with any value, for a new key. It is removed once there is one.
	AnnotationRotate = "kanon.dev/rotate"
	// The entries of the Secret's data.
	currentEntry  = "current"
	previousEntry = "previous"
)

// fromSecret reads a ring from a Secret.
func fromSecret(secret *unstructured.Unstructured) (*Keyring, error) {
	data, _, err := unstructured.NestedStringMap(secret.Object, "data")
	if err != nil {
		return nil, err
	}
	keys := make(map[string]*key, len(data))
	for name, text := range data {
		if name != currentEntry && name != previousEntry {
			return nil, fmt.Errorf("entry %q is not one of this version of Kanon", name)
		}
		value, err := base64.StdEncoding.DecodeString(text)
		if err == nil {
			keys[name], err = newKey(value)
		}
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", name, err)
		}
	}
	if keys[currentEntry] == nil {
		return nil, fmt.Errorf("it has no entry %q", currentEntry)
	}
	return &Keyring{current: keys[currentEntry], previous: keys[previousEntry]}, nil
}

// data returns the data of the ring's Secret.
func (r *Keyring) data() map[string]any {
	data := map[string]any{currentEntry: base64.StdEncoding.EncodeToString(r.current.secret)}
	if r.previous != nil {
		data[previousEntry] = base64.StdEncoding.EncodeToString(r.previous.secret)
	}
	return data
}

// newSecretObject returns a new Secret with the ring.
func (r *Keyring) newSecretObject(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"name": SecretName, "namespace": namespace},
		"data":     r.data(),
	}}
}

// rotated returns a copy of a Secret with a new key and without AnnotationRotate.
func (r *Keyring) rotated(secret *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	next, err := r.Rotate()
	if err != nil {
		return nil, err
	}
	object := secret.DeepCopy()
	annotations := object.GetAnnotations()
	delete(annotations, AnnotationRotate)
	object.SetAnnotations(annotations)
	object.Object["data"] = next.data()
	return object, nil
}

func wantsRotation(secret *unstructured.Unstructured) bool {
	_, ok := secret.GetAnnotations()[AnnotationRotate]
	return ok
}
