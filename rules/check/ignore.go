package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Ignoring checks the paths of a child's ignore.
type Ignoring struct {
	*Reporter
	Kind string
	// Schema is the schema of the kind; nil if it is not known.
	Schema *openapi.Schema
	// always and sometimes are the paths that are ignored without and with a condition.
	always, sometimes []ignoredPath
}

// ignoredPath is a path and the node that has it.
type ignoredPath struct {
	path syntax.IgnorePath
	node *yamltree.Node
}

// Add parses and checks the path of an item of ignore. It returns false, after a finding, if the path cannot be used.
func (g *Ignoring) Add(item syntax.Ignore) (syntax.IgnorePath, bool) {
	n := item.Path
	text, _ := n.Text()
	path, err := syntax.ParseIgnore(text)
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
	if first := slices.IndexFunc(g.always, func(p ignoredPath) bool {
		return len(p.path) <= len(path.Steps) && p.path.Equal(path.Steps[:len(p.path)])
	}); first >= 0 {
		other := g.always[first]
		g.Relate(g.ReportNode(n, diagnostic.CodeIgnoreTwice, "%s is ignored already, by %s", path.Steps, other.path), other.node, "the first one").WithHint("leave it out")
		return nil, false
	}
	if first := slices.IndexFunc(g.sometimes, func(p ignoredPath) bool { return p.path.Equal(path.Steps) }); first >= 0 {
		hint := "write one item, with || between the conditions"
		if item.When == nil {
			hint = "leave out the other item"
		}
		g.Relate(g.ReportNode(n, diagnostic.CodeIgnoreTwice, "%s is ignored already, under a condition", path.Steps), g.sometimes[first].node, "the first one").WithHint("%s", hint)
		return nil, false
	}
	g.checkSchema(n, text, path)
	if item.When == nil {
		g.always = append(g.always, ignoredPath{path.Steps, n})
	} else {
		g.sometimes = append(g.sometimes, ignoredPath{path.Steps, n})
	}
	return path.Steps, true
}

// whyNotIgnorable says why a path cannot be ignored; "" if it can.
func whyNotIgnorable(path syntax.IgnorePath) string {
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

// checkSchema follows a path in the schema of its kind, as far as the schema is known. text is the path as written.
func (g *Ignoring) checkSchema(n *yamltree.Node, text string, path syntax.ParsedIgnore) {
	s, at := g.Schema, &fieldPath{name: g.Kind}
	var list *openapi.Schema // the list whose items have the schema s
	for i, step := range path.Steps {
		if s == nil || s.Type == openapi.Any {
			return
		}
		report := func(code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
			return g.ReportSpan(n, path.At[i], wordLength(text, path.At[i]), code, format, args...)
		}
		if step.Keys != nil {
			if s.Type != openapi.List {
				report(diagnostic.CodeIgnorePart, "%s is not a list", at.inKind()).WithHint("write [key] for the key of a map")
				return
			}
			for _, name := range slices.Sorted(maps.Keys(step.Keys)) {
				if !slices.Contains(s.Keys, name) {
					report(diagnostic.CodeIgnorePart, "the items of %s are not identified by %s", at.inKind(), name).WithHint("%s", itemsHint(s, at))
					return
				}
			}
			s, list, at = s.Items, s, at.to(syntax.IgnorePath{step}.String(), s)
			continue
		}
		if list != nil && slices.Contains(list.Keys, step.Field) && i == len(path.Steps)-1 {
			report(diagnostic.CodeIgnorePart, "%s identifies the items of %s and cannot be ignored", step.Field, at.up.inKind())
			return
		}
		list = nil
		switch s.Type {
		case openapi.Map, openapi.Object:
			below, ok := s.At(step.Field)
			if !ok {
				report(diagnostic.CodeIgnoreUnknown, "%s has no field %s", at.kind(), at.to(step.Field, s).inKind()).Suggest(step.Field, FieldNames(s)).WithHint("%s", fieldHint(step.Field, s))
				return
			}
			s, at = below, at.to(step.Field, s)
		case openapi.List:
			report(diagnostic.CodeIgnorePart, "%s is a list", at.inKind()).WithHint("%s", itemsHint(s, at))
			return
		default:
			report(diagnostic.CodeIgnorePart, "%s is one value, with no fields in it", at.inKind())
			return
		}
	}
}

// itemsHint says how to name items of a list.
func itemsHint(s *openapi.Schema, at *fieldPath) string {
	if len(s.Keys) == 0 {
		return fmt.Sprintf("the API server treats the list as one value; ignore %s as a whole", at.inKind())
	}
	return fmt.Sprintf("name an item, as in %s[%s=…]", at.inKind(), strings.Join(s.Keys, "=…,"))
}
