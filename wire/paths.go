package wire

import (
	"strings"
	"unique"
)

// paths is the fieldsV1 of one entry of managedFields. The API server tells ownerReferences apart by their UID, so that of
// an owner stands among the paths of what it owns: what is before and after it is the same for the children of all parents,
// and kept once for as long as one of them is there, which the handles see to.
type paths struct {
	before unique.Handle[string]
	uid    string
	after  unique.Handle[string]
}

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
		return paths{before: unique.Make(text), after: unique.Make("")}
	}
	start := len(before) + len(referenceStart)
	end := start + len(uid)
	return paths{unique.Make(text[:start]), strings.Clone(uid), unique.Make(text[end:])}
}

func (p paths) text() string { return p.before.Value() + p.uid + p.after.Value() }
