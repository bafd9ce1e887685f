package keyring

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// keySize is the size of a key in bytes: that of the digest, beyond which HMAC gains nothing (RFC 2104, section
	// 3).
	keySize = sha256.Size
	// idSize is the number of characters in the id of a key. An id only selects a key; two keys of one ring must not
	// share it.
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
	// Outdated: the seal belongs to the statement, under a key that no longer seals.
	Outdated
	// Current: the seal belongs to the statement, under the key that currently seals.
	Current
)

// Proves reports whether the seal belongs to the statement.
func (v Verdict) Proves() bool { return v == Outdated || v == Current }

// Keyring is a set of keys, one of which seals. It is immutable and safe for concurrent use.
type Keyring struct {
	current string
	keys    map[string]*key
	since   time.Time
}

// key is one key, with a pool of hashes keyed with it.
type key struct {
	secret []byte
	macs   sync.Pool
}

func newKey(secret []byte) *key {
	k := &key{secret: slices.Clone(secret)}
	k.macs.New = func() any { return hmac.New(sha256.New, k.secret) }
	return k
}

// New returns a ring of secrets. The secret with the id current seals. since is when the first of them was created.
//
// The error names a secret of the wrong length, an id that does not match its secret, or a current id without a
// secret.
func New(since time.Time, current string, secrets map[string][]byte) (*Keyring, error) {
	ring := &Keyring{current: current, keys: make(map[string]*key, len(secrets)), since: since}
	for _, id := range slices.Sorted(maps.Keys(secrets)) {
		if len(secrets[id]) != keySize {
			return nil, fmt.Errorf("key %q has %d bytes, not %d", id, len(secrets[id]), keySize)
		}
		if idOf(secrets[id]) != id {
			return nil, fmt.Errorf("key %q does not have the id %s of its content", id, idOf(secrets[id]))
		}
		ring.keys[id] = newKey(secrets[id])
	}
	if ring.keys[current] == nil {
		return nil, fmt.Errorf("there is no key %q, which is to seal", current)
	}
	return ring, nil
}

// Generate returns a ring of one new key, created at the time since.
func Generate(since time.Time) (*Keyring, error) {
	_, secret, err := newSecret(nil)
	if err != nil {
		return nil, err
	}
	return Of(since, secret)
}

// Of returns a ring of one key, created at the time since. It fails if the secret has the wrong length.
func Of(since time.Time, secret []byte) (*Keyring, error) {
	id := idOf(secret)
	return New(since, id, map[string][]byte{id: secret})
}

// errFull is returned by Rotate for a ring that has maxKeys keys or more. No older key makes room for a new one: a key
// may still verify the mark of an object that Kanon does not see, such as a child of a suspended parent.
var errFull = errors.New("too many keys")

// Rotate returns a ring with the same keys and a new one, which seals. It fails if the ring has too many keys already.
func (r *Keyring) Rotate() (*Keyring, error) {
	if len(r.keys) >= maxKeys {
		return nil, errFull
	}
	secrets := r.secrets()
	id, secret, err := newSecret(secrets)
	if err != nil {
		return nil, err
	}
	secrets[id] = secret
	return New(r.since, id, secrets)
}

func (r *Keyring) secrets() map[string][]byte {
	secrets := make(map[string][]byte, len(r.keys))
	for id, k := range r.keys {
		secrets[id] = k.secret
	}
	return secrets
}

// idOf returns the id of a key. It reveals nothing about the key that seals do not reveal.
func idOf(secret []byte) string {
	sum := sha256.Sum256(append([]byte("id of "), secret...))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:idSize]
}

// newSecret returns a new key whose id is not taken.
func newSecret(taken map[string][]byte) (id string, secret []byte, err error) {
	for range 8 {
		secret = make([]byte, keySize)
		if _, err := rand.Read(secret); err != nil {
			return "", nil, fmt.Errorf("make a key: %w", err)
		}
		if id = idOf(secret); taken[id] == nil {
			return id, secret, nil
		}
	}
	return "", nil, errors.New("make a key: too many keys in one ring")
}

// CurrentID returns the id of the key that seals.
func (r *Keyring) CurrentID() string { return r.current }

// Since returns when the first key of the ring was created: nothing older can have a seal.
func (r *Keyring) Since() time.Time { return r.since }

// Seal returns the seal of a statement: the id of the key and a digest, SealSize characters that are valid in
// annotations.
func (r *Keyring) Seal(statement string) string {
	return r.current + r.keys[r.current].digest(statement)
}

// Check returns what a seal proves about a statement.
func (r *Keyring) Check(statement, seal string) Verdict {
	if len(seal) != SealSize {
		return Forged
	}
	id := seal[:idSize]
	k := r.keys[id]
	switch {
	case k == nil:
		return Unknown
	case subtle.ConstantTimeCompare([]byte(k.digest(statement)), []byte(seal[idSize:])) == 0:
		return Forged
	case id == r.current:
		return Current
	default:
		return Outdated
	}
}

func (k *key) digest(statement string) string {
	mac, _ := k.macs.Get().(hash.Hash)
	defer k.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte(statement))
	var sum [sha256.Size]byte
	return base64.RawURLEncoding.EncodeToString(mac.Sum(sum[:0])[:digestSize])
}
