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
	// keySize is how many bytes a key has: as many as the digest, beyond which HMAC gains nothing (RFC 2104, section 3).
	keySize = sha256.Size
	// idSize is how many characters the id of a key has. It only selects a key, so that two keys of one ring may not share it.
	idSize = 4
	// digestSize is how many bytes of the HMAC a seal has: 96 bits, as in RFC 2404. Nobody can try seals without a write to
	// the cluster each.
	digestSize = 12
)

// SealSize is how many characters a seal has: the key's id, and the digest as base64.
const SealSize = idSize + digestSize*4/3

// Verdict says what a seal proves.
type Verdict int

// The verdicts of Check.
const (
	// Forged: the ring has the key that the seal names, and the seal is not of this statement.
	Forged Verdict = iota
	// Unknown: the ring lacks the key that the seal names. The key may have been lost.
	Unknown
	// Outdated: the seal is of this statement, by a key that seals nothing new.
	Outdated
	// Current: the seal is of this statement, by the key of the ring that seals now.
	Current
)

// Proves tells whether the seal is of the statement.
func (v Verdict) Proves() bool { return v == Outdated || v == Current }

// Keyring is a set of keys, one of which seals. It is immutable and safe for concurrent use.
type Keyring struct {
	current string
	keys    map[string]*key
	since   time.Time
}

// key is one key, with hashes that are ready to be used with it.
type key struct {
	secret []byte
	macs   sync.Pool
}

func newKey(secret []byte) *key {
	k := &key{secret: slices.Clone(secret)}
	k.macs.New = func() any { return hmac.New(sha256.New, k.secret) }
	return k
}

// New returns a ring of secrets, of which the one with the id current seals. since is the time at which the first of them
// was made.
//
// The error says which secret has not the length of a key, which id is not that of its secret, or that current is none.
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

// Generate returns a ring of one new key, made at the time since.
func Generate(since time.Time) (*Keyring, error) {
	_, secret, err := newSecret(nil)
	if err != nil {
		return nil, err
	}
	return Of(since, secret)
}

// Of returns a ring of one key, which was made at the time since. The error says that the secret has not the length of a key.
func Of(since time.Time, secret []byte) (*Keyring, error) {
	id := idOf(secret)
	return New(since, id, map[string][]byte{id: secret})
}

// Rotate returns a ring with the same keys and a new one, which seals.
func (r *Keyring) Rotate() (*Keyring, error) {
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

// idOf is the id of a key. It tells nothing about the key that its seals do not.
func idOf(secret []byte) string {
	sum := sha256.Sum256(append([]byte("id of "), secret...))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:idSize]
}

// newSecret makes a key that no ring of these ids has.
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

// CurrentID is the id of the key that seals.
func (r *Keyring) CurrentID() string { return r.current }

// Since is when the first key of the ring was made: nothing that is older can have a seal.
func (r *Keyring) Since() time.Time { return r.since }

// Seal returns the seal of a statement, of SealSize characters that are valid in annotations: the id of the key and a digest.
func (r *Keyring) Seal(statement string) string {
	return r.current + r.keys[r.current].digest(statement)
}

// Check says what a seal proves of a statement.
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
