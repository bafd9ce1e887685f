package mark

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/google/uuid"
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
	if id, err := uuid.Parse(string(uid)); err == nil && id.String() == string(uid) {
		return base64.RawURLEncoding.EncodeToString(id[:])
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(uid))
}

func unpackUID(text string) (types.UID, bool) {
	other, isOther := strings.CutPrefix(text, "~")
	packed, err := base64.RawURLEncoding.DecodeString(other)
	if err == nil && isOther {
		return types.UID(packed), true
	}
	id, wrong := uuid.FromBytes(packed)
	if err != nil || wrong != nil {
		return "", false
	}
	return types.UID(id.String()), true
}
