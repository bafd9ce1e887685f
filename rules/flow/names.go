package flow

import (
	"strings"

	"kanon.dev/kanon/rules/celenv"
)

// The names that an expression can begin with, besides those of a forEach.
const (
	RootParent    = "parent"
	RootChildren  = "children"
	RootLookups   = "lookups"
	RootObserved  = "observed"
	RootEach      = "each"
	RootVariables = "variables"
	RootSelf      = "self"
	RootStatus    = "status"
	RootNow       = celenv.NowName

	RootFinalizing = "finalizing"

	rootMetadata = RootParent + ".metadata"
)

// DeletionTime is the field of the parent that exists while finalizing is true.
const DeletionTime = rootMetadata + ".deletionTimestamp"

// IsGroup reports whether a root has no value of its own, but only members.
func IsGroup(root string) bool {
	switch root {
	case RootVariables, RootChildren, RootLookups, RootObserved, RootEach:
		return true
	}
	return false
}

// NameOffset is the offset of a name in the text of an expression. CEL gives the offset of the dot or bracket before
// the name, or of the parenthesis after it. For an empty name, it is the offset of what follows the dot.
func NameOffset(text string, offset int, name string) int {
	if offset < 0 || offset > len(text) {
		return offset
	}
	if name == "" {
		return offset + len(text[offset:]) - len(strings.TrimPrefix(text[offset:], "."))
	}
	rest := strings.TrimLeft(text[offset:], ".?[\"'` ")
	if strings.HasPrefix(rest, name) {
		return len(text) - len(rest)
	}
	if before := strings.TrimRight(text[:offset], " "); strings.HasSuffix(before, name) {
		return len(before) - len(name)
	}
	if i := strings.Index(rest, "."+name); i >= 0 { // has(children.name) stands at its parenthesis
		return len(text) - len(rest) + i + 1
	}
	return offset
}
