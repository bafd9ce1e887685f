package keyring

import (
	"testing"
	"time"
)

// MaxKeys is the number of keys beyond which a rotation adds none.
const MaxKeys = maxKeys

// WithKeys returns the data of a Secret with n keys.
func WithKeys(tb testing.TB, n int) map[string]any {
	tb.Helper()
	secrets := make(map[string][]byte, n)
	current := ""
	for range n {
		id, secret, err := newSecret(secrets)
		if err != nil {
			tb.Fatal(err)
		}
		current, secrets[id] = id, secret
	}
	ring, err := New(time.Now(), current, secrets)
	if err != nil {
		tb.Fatal(err)
	}
	return ring.data()
}

// Random is a ring with one key.
func Random(tb testing.TB) *Keyring {
	tb.Helper()
	ring, err := Generate(time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	return ring
}

// Rotated is a ring with one key more, which seals.
func Rotated(tb testing.TB, ring *Keyring) *Keyring {
	tb.Helper()
	next, err := ring.Rotate()
	if err != nil {
		tb.Fatal(err)
	}
	return next
}

// Revoked is a ring without one of the keys.
func Revoked(tb testing.TB, ring *Keyring, id string) *Keyring {
	tb.Helper()
	secrets := ring.secrets()
	delete(secrets, id)
	left, err := New(ring.since, ring.current, secrets)
	if err != nil {
		tb.Fatal(err)
	}
	return left
}
