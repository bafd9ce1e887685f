package rules

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// ignored compiles a child's ignore.
func (c *compiler) ignored(spec *syntax.Child, child *program.Child, sc *compileScope, u *flow.Uses) {
	for _, item := range spec.Ignore {
		path, ok := c.ignoredPath(item, child)
		if !ok {
			continue
		}
		if item.When == nil {
			child.Ignore = append(child.Ignore, path)
			continue
		}
		when := c.condition(item.When, sc.in("."+item.Place+".when"), u).compiled()
		child.Handovers = append(child.Handovers, program.Handover{Path: path, Place: item.Place + ".when", When: when})
	}
}

// ignoredPath reads and checks the path of an item of ignore; false where it cannot be used.
func (c *compiler) ignoredPath(item syntax.Ignore, child *program.Child) (syntax.IgnoredPath, bool) {
	n := item.Path
	text, _ := n.Text()
	path, err := syntax.ParsePath(text)
	if err != nil {
		c.ReportSpan(n, err.Offset, wordLength(text, err.Offset), diagnostic.CodeIgnorePath, "%s", err.Message).Hint = err.Hint
		return nil, false
	}
	if reason := notOthers(path.Steps); reason != "" {
		c.ReportNode(n, diagnostic.CodeIgnoreIdentity, "%s cannot be ignored: %s", path.Steps, reason)
		return nil, false
	}
	if other, ok := within(path.Steps, child.Ignore); ok {
		c.Relate(c.ReportNode(n, diagnostic.CodeIgnoreTwice, "%s is ignored already, by %s", path.Steps, other), c.ignoring(child, other, item.Path), "the first one").WithHint("leave it out")
		return nil, false
	}
	if slices.ContainsFunc(child.Handovers, func(h program.Handover) bool { return h.Path.Equal(path.Steps) }) {
		hint := "write one item, with || between the conditions"
		if item.When == nil {
			hint = "leave out the other item"
		}
		c.Relate(c.ReportNode(n, diagnostic.CodeIgnoreTwice, "%s is ignored already, under a condition", path.Steps), c.ignoring(child, path.Steps, item.Path), "the first one").WithHint("%s", hint)
		return nil, false
	}
	if s := c.schemaOf(child.GVK); s != nil {
		check.Ignored(path, child.GVK.Kind, s, func(offset int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
			return c.ReportSpan(n, offset, wordLength(text, offset), code, format, args...)
		})
	}
	return path.Steps, true
}

// notOthers says why a path cannot be ignored; empty when it can.
func notOthers(path syntax.IgnoredPath) string {
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

// ignoring is the item of ignore before one that has a path; nil if it is not found.
func (c *compiler) ignoring(child *program.Child, path syntax.IgnoredPath, before *yamltree.Node) *yamltree.Node {
	spec := c.children[child.ID]
	if spec == nil {
		return nil
	}
	for _, item := range spec.Ignore {
		if item.Path == before {
			break
		}
		text, _ := item.Path.Text()
		if other, wrong := syntax.ParsePath(text); wrong == nil && other.Steps.Equal(path) {
			return item.Path
		}
	}
	return nil
}

// within finds the path that a path is part of.
func within(path syntax.IgnoredPath, others []syntax.IgnoredPath) (syntax.IgnoredPath, bool) {
	for _, other := range others {
		if len(other) <= len(path) && other.Equal(path[:len(other)]) {
			return other, true
		}
	}
	return nil, false
}

// wordLength is how many bytes of a path the field, or the value of a key, takes that begins at an offset.
func wordLength(path string, offset int) int {
	if offset < 0 || offset > len(path) {
		return 0
	}
	if end := strings.IndexAny(path[offset:], ".[]=\"'"); end >= 0 {
		return end
	}
	return len(path) - offset
}
