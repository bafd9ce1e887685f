package wire

import (
	"strings"
	"unique"
)

// paths is the fieldsV1 of one entry of managedFields. The API server tells ownerReferences apart by their UID, so that of
// an owner stands among the paths of what it owns: what is before and after it is the same for the children of all parents,
// and kept once.
type paths struct{ before, uid, after string }

// A reference to an owner is a UID between these two.
const (
	referenceStart = `"k:{\"uid\":\"`
	referenceEnd   = `\"}"`
)

// pathsOf keeps nothing of text.
func pathsOf(text string) paths {
	before, rest, found := strings.Cut(text, referenceStart)
	uid, _, closed := strings.Cut(rest, referenceEnd)
	if !found || !closed {
		return paths{before: unique.Make(text).Value()}
	}
	start := len(before) + len(referenceStart)
	end := start + len(uid)
	return paths{unique.Make(text[:start]).Value(), strings.Clone(uid), unique.Make(text[end:]).Value()}
}

func (p paths) text() string {
	if p.uid == "" {
		return p.before + p.after
	}
	return p.before + p.uid + p.after
}
