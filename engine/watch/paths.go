package watch

import (
	"strings"
	"unique"
)

// paths is the fieldsV1 of one entry of managedFields. It contains the owner's UID, because the UID is the key of an
// owner reference. The text before and after the UID is the same for the children of all parents. The handles keep it in
// memory once, as long as any object has it.
type paths struct {
	before unique.Handle[string]
	uid    string
	after  unique.Handle[string]
}

// The UID of an owner is between these two texts.
const (
	referenceStart = `"k:{\"uid\":\"`
	referenceEnd   = `\"}"`
)

// pathsOf returns the paths of a text, and shares no memory with it.
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
