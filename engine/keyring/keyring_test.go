package keyring_test

import (
	"strings"
	"testing"

	"kanon.dev/kanon/engine/keyring"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	first := random(t)
	second := rotated(t, first)
	const statement = "rule r made ConfigMap team-a/front"
	seal := first.Seal(statement)
	if len(seal) != keyring.SealSize {
		t.Fatalf("the seal %q has %d characters, not %d", seal, len(seal), keyring.SealSize)
	}
	flipped := []byte(seal)
	flipped[len(flipped)-2] ^= 1
	for name, tt := range map[string]struct {
		ring            *keyring.Keyring
		statement, seal string
		want            keyring.Verdict
	}{
		"by the key that seals now":     {first, statement, seal, keyring.Current},
		"by a key that did before":      {second, statement, seal, keyring.Outdated},
		"by a key that was replaced":    {rotated(t, second), statement, seal, keyring.Unknown},
		"by a key of somebody else":     {first, statement, random(t).Seal(statement), keyring.Unknown},
		"of another statement":          {first, strings.Replace(statement, "team-a", "team-b", 1), seal, keyring.Forged},
		"with another digest":           {first, statement, string(flipped), keyring.Forged},
		"without a digest":              {first, statement, seal[:4], keyring.Forged},
		"none":                          {first, statement, "", keyring.Forged},
		"with more than a digest of it": {first, statement, seal + "A", keyring.Forged},
	} {
		if got := tt.ring.Check(tt.statement, tt.seal); got != tt.want {
			t.Errorf("a seal %s: %v, want %v", name, got, tt.want)
		}
	}
	if second.Seal(statement) == seal {
		t.Error("a new key makes the seal of an old one")
	}
	if got := second.Check(statement, second.Seal(statement)); got != keyring.Current {
		t.Errorf("a seal of the new key: %v", got)
	}
}

// random is a ring with one key.
func random(tb testing.TB) *keyring.Keyring {
	tb.Helper()
	ring, err := keyring.Generate()
	if err != nil {
		tb.Fatal(err)
	}
	return ring
}

func rotated(tb testing.TB, ring *keyring.Keyring) *keyring.Keyring {
	tb.Helper()
	next, err := ring.Rotate()
	if err != nil {
		tb.Fatal(err)
	}
	return next
}

func BenchmarkCheck(b *testing.B) {
	ring := random(b)
	statement := strings.Repeat("x", 200)
	seal := ring.Seal(statement)
	b.ReportAllocs()
	for b.Loop() {
		if ring.Check(statement, seal) != keyring.Current {
			b.Fatal("the seal does not hold")
		}
	}
}
