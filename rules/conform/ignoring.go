package conform

import (
	"slices"
	"strings"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/ignore"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Ignoring checks the paths of a child's ignore.
type Ignoring struct {
	*reporting.Reporter
	Kind string
	// Schema is the schema of the kind; nil if it is not known.
	Schema *openapi.Schema
	// always and sometimes are the paths that are ignored without and with a condition.
	always, sometimes []ignoredPath
}

// ignoredPath is a path and the node that has it.
type ignoredPath struct {
	ignore.Path
	node *yamltree.Node
}

// Add parses and checks the path of an item of ignore. It returns false, after a finding, if the path cannot be used.
func (g *Ignoring) Add(item syntax.Ignore) (ignore.Path, bool) {
	n := item.Path
	text, _ := n.Text()
	path, err := ignore.Parse(text)
	if err != nil {
		f := g.ReportSpan(n, err.Offset, wordLength(text, err.Offset), diagnostic.CodeIgnorePath, "%s", err.Message)
		if f.Hint = err.Hint; err.Meant != "" {
			f.WithEdit(f.Position, text, err.Meant)
		}
		return nil, false
	}
	if reason := whyNotIgnorable(path.Steps); reason != "" {
		g.ReportNode(n, diagnostic.CodeIgnoreIdentity, "%s cannot be ignored: %s", path.Steps, reason)
		return nil, false
	}
	if first := slices.IndexFunc(g.always, func(p ignoredPath) bool { return p.contains(path.Steps) }); first >= 0 {
		other := g.always[first]
		g.Relate(g.ReportNode(n, diagnostic.CodeIgnoreTwice, "%s is ignored already, by %s", path.Steps, other), other.node, "the first one").WithHint("leave it out")
		return nil, false
	}
	if first := slices.IndexFunc(g.sometimes, func(p ignoredPath) bool { return p.Equal(path.Steps) }); first >= 0 {
		hint := "write one item, with || between the conditions"
		if item.When == nil {
			hint = "leave out the other item"
		}
		g.Relate(g.ReportNode(n, diagnostic.CodeIgnoreTwice, "%s is ignored already, under a condition", path.Steps), g.sometimes[first].node, "the first one").WithHint("%s", hint)
		return nil, false
	}
	if g.Schema != nil {
		ignored(path, g.Kind, g.Schema, func(offset int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
			return g.ReportSpan(n, offset, wordLength(text, offset), code, format, args...)
		})
	}
	if item.When == nil {
		g.always = append(g.always, ignoredPath{path.Steps, n})
	} else {
		g.sometimes = append(g.sometimes, ignoredPath{path.Steps, n})
	}
	return path.Steps, true
}

// whyNotIgnorable says why a path cannot be ignored; "" if it can.
func whyNotIgnorable(path ignore.Path) string {
	switch path[0].Field {
	case "apiVersion", "kind":
		return "it identifies the object"
	case "metadata":
	default:
		return ""
	}
	if len(path) == 1 {
		return "it identifies the object and its owner"
	}
	switch path[1].Field {
	case "name", "namespace":
		return "it identifies the object"
	case "ownerReferences":
		return "it identifies the owner of the object"
	case "labels", "annotations":
		if len(path) > 2 && strings.HasPrefix(path[2].Field, "kanon.dev/") {
			return "it is Kanon's own"
		}
	}
	return ""
}

// contains reports whether a path is the other one, or above it.
func (p ignoredPath) contains(other ignore.Path) bool {
	return len(p.Path) <= len(other) && p.Equal(other[:len(p.Path)])
}

// wordLength returns the length in bytes of the word at an offset of a path: a field, the value of a key, or everything
// in brackets.
func wordLength(path string, offset int) int {
	if offset < 0 || offset > len(path) {
		return 0
	}
	if end := strings.IndexByte(path[offset:], ']'); end > 0 && path[offset] == '[' {
		return end + 1
	}
	if end := strings.IndexAny(path[offset:], ".[]=\"'"); end >= 0 {
		return end
	}
	return len(path) - offset
}
