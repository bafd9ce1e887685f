package keyring

import (
	"testing"
	"time"
)

// Random is a ring with one key.
func Random(tb testing.TB) *Keyring {
	tb.Helper()
	return must(tb)(Generate(time.Now()))
}

// Rotated is a ring with one key more, which seals.
func Rotated(tb testing.TB, ring *Keyring) *Keyring {
	tb.Helper()
	return must(tb)(ring.Rotate())
}

// Revoked is a ring without one of the keys.
func Revoked(tb testing.TB, ring *Keyring, id string) *Keyring {
	tb.Helper()
	secrets := ring.secrets()
	delete(secrets, id)
	return must(tb)(New(ring.since, ring.current, secrets))
}

func must(tb testing.TB) func(*Keyring, error) *Keyring {
	return func(ring *Keyring, err error) *Keyring {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return ring
	}
}
