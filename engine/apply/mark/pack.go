package mark

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// parentHash is 48 bits of a hash of a parent's identity without its UID. When a parent was deleted with orphaning,
// the references of its children to it are gone; by this hash they return to a new parent with the same identity.
func parentHash(parent Ref) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{parent.Group, parent.Kind, parent.Namespace, parent.Name}, separator)))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// packUID encodes a UID, in practice a UUID, in 22 characters; any other in as many as it needs.
func packUID(uid types.UID) string {
	if digits := strings.ReplaceAll(string(uid), "-", ""); len(digits) == 32 {
		if packed, err := hex.DecodeString(digits); err == nil && formatUUID(packed) == uid {
			return base64.RawURLEncoding.EncodeToString(packed)
		}
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(uid))
}

func unpackUID(text string) (types.UID, bool) {
	other, isOther := strings.CutPrefix(text, "~")
	packed, err := base64.RawURLEncoding.DecodeString(other)
	switch {
	case err != nil:
		return "", false
	case isOther:
		return types.UID(packed), true
	case len(packed) != 16:
		return "", false
	default:
		return formatUUID(packed), true
	}
}

func formatUUID(b []byte) types.UID {
	var text [36]byte
	hex.Encode(text[:], b[:4])
	at := 8
	for _, part := range [][]byte{b[4:6], b[6:8], b[8:10], b[10:]} {
		text[at] = '-'
		hex.Encode(text[at+1:], part)
		at += 1 + 2*len(part)
	}
	return types.UID(text[:])
}
