package flow

import (
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/syntax"
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
)

// DeletionTime is the field of the parent that exists while finalizing is true.
const DeletionTime = RootParent + ".metadata.deletionTimestamp"

// IsGroup reports whether a root has no value of its own, but only members.
func IsGroup(root string) bool {
	switch root {
	case RootVariables, RootChildren, RootLookups, RootObserved, RootEach:
		return true
	}
	return false
}

// NameOffset is the offset of a name in the text of an expression. CEL gives the offset of
// the dot or bracket before the name, or of the parenthesis after it. For an empty name it
// is what follows the dot.
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

// DashedName is the whole key for a name that is the last part of a key with - or /, such as
// app-name. In CEL, labels.app-name is a subtraction.
func DashedName(text string, n celenv.Name) string {
	at := n.Offset
	if at < 2 || at > len(text) || text[at-1] != '-' && text[at-1] != '/' {
		return ""
	}
	if text[at-1] == '/' {
		return "…/" + n.Name // where the key begins cannot be seen
	}
	start := at - 1
	for start > 0 && (syntax.IsNameByte(text[start-1]) || text[start-1] == '-') {
		start--
	}
	if start == at-1 || start == 0 || text[start-1] != '.' && text[start-1] != '?' {
		return ""
	}
	return text[start:at] + n.Name
}

// ForeignFunction is a hint for a function of other languages.
func ForeignFunction(name string) string {
	switch name {
	case "len", "length", "count":
		return "write size(…)"
	case "default", "coalesce", "getOrDefault", "orDefault":
		return "write .? before the field that may be missing, and orValue(…) behind it, as in parent.spec.?x.orValue(1)"
	case "toUpper", "upper", "toUpperCase":
		return "write upperAscii()"
	case "toLower", "lower", "toLowerCase":
		return "write lowerAscii()"
	case "str", "toString", "String":
		return "write string(…)"
	case "b64enc":
		return "write base64.encode(bytes(…))"
	case "b64dec":
		return "write string(base64.decode(…))"
	}
	return ""
}
