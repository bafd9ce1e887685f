package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// ignored compiles a child's ignore.
func (c *compiler) ignored(spec *syntax.Child, child *compiledChild, sc *compileScope, u *flow.Uses) {
	for _, item := range spec.Ignore {
		path, ok := c.ignoredPath(item, child)
		if !ok {
			continue
		}
		if item.When == nil {
			child.Ignore = append(child.Ignore, path)
			continue
		}
		own := *sc
		own.place = sc.place + "." + item.Place + ".when"
		when := c.condition(item.When, &own, u).compiled()
		child.handovers = append(child.handovers, handover{path: path, place: item.Place + ".when", when: when})
	}
}

// ignoredPath reads and checks the path of an item of ignore; false where it cannot be used.
func (c *compiler) ignoredPath(item syntax.Ignore, child *compiledChild) (syntax.IgnoredPath, bool) {
	n := item.Path
	text, _ := n.Text()
	path, err := syntax.ParsePath(text)
	if err != nil {
		c.reportAt(n, err.Offset, diagnostic.CodeIgnorePath, "%s", err.Message).Hint = err.Hint
		return nil, false
	}
	if reason := notOthers(path.Steps); reason != "" {
		c.report(c.rule.Source.At(n), diagnostic.CodeIgnoreIdentity, "%s cannot be ignored: %s", path.Steps, reason)
		return nil, false
	}
	if other, ok := within(path.Steps, child.Ignore); ok {
		c.report(c.rule.Source.At(n), diagnostic.CodeIgnoreTwice, "%s is ignored already, by %s", path.Steps, other).WithHint("leave it out")
		return nil, false
	}
	if slices.ContainsFunc(child.handovers, func(h handover) bool { return h.path.Equal(path.Steps) }) {
		hint := "write one item, with || between the conditions"
		if item.When == nil {
			hint = "leave out the other item"
		}
		c.report(c.rule.Source.At(n), diagnostic.CodeIgnoreTwice, "%s is ignored already, under a condition", path.Steps).WithHint("%s", hint)
		return nil, false
	}
	if s := c.schemaOf(child.GVK); s != nil {
		(&ignoreChecker{c: c, n: n, path: path}).check(s, &fieldPath{name: child.GVK.Kind})
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

// within finds the path that a path is part of.
func within(path syntax.IgnoredPath, others []syntax.IgnoredPath) (syntax.IgnoredPath, bool) {
	for _, other := range others {
		if len(other) <= len(path) && other.Equal(path[:len(other)]) {
			return other, true
		}
	}
	return nil, false
}

// ignoreChecker compares a path with the schema of its kind.
type ignoreChecker struct {
	c    *compiler
	n    *yamltree.Node
	path syntax.ParsedPath
}

// check follows the path as far as the schema does.
func (k *ignoreChecker) check(s *openapi.Schema, at *fieldPath) {
	var list *openapi.Schema // whose item s is
	for i, step := range k.path.Steps {
		if s == nil || s.Type == openapi.Any {
			return
		}
		if step.Keys != nil {
			if !k.items(i, s, at) {
				return
			}
			s, list, at = s.Items, s, at.to(syntax.IgnoredPath{step}.String(), s)
			continue
		}
		if list != nil && slices.Contains(list.Keys, step.Field) && i == len(k.path.Steps)-1 {
			k.report(i, diagnostic.CodeIgnorePart, "%s identifies the items of %s and cannot be ignored", step.Field, at.up.inKind())
			return
		}
		list = nil
		switch s.Type {
		case openapi.Map:
			s, at = s.Items, at.to(step.Field, s)
		case openapi.Object:
			field, known := s.Fields[step.Field]
			if !known {
				k.unknown(i, s, at)
				return
			}
			s, at = field.Schema, at.to(step.Field, s)
		case openapi.List:
			k.report(i, diagnostic.CodeIgnorePart, "%s is a list", at.inKind()).WithHint("%s", itemsHint(s, at))
			return
		default:
			k.report(i, diagnostic.CodeIgnorePart, "%s is one value, with no fields in it", at.inKind())
			return
		}
	}
}

// items looks at a step that names items of a list, and tells whether it can.
func (k *ignoreChecker) items(i int, s *openapi.Schema, at *fieldPath) bool {
	if s.Type != openapi.List {
		k.report(i, diagnostic.CodeIgnorePart, "%s is not a list", at.inKind()).WithHint("write [key] for the key of a map")
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(k.path.Steps[i].Keys)) {
		if !slices.Contains(s.Keys, name) {
			k.report(i, diagnostic.CodeIgnorePart, "the items of %s are not identified by %s", at.inKind(), name).WithHint("%s", itemsHint(s, at))
			return false
		}
	}
	return true
}

// itemsHint says how items of a list are named.
func itemsHint(s *openapi.Schema, at *fieldPath) string {
	if len(s.Keys) == 0 {
		return fmt.Sprintf("the API server treats the list as one value; ignore %s as a whole", at.inKind())
	}
	return fmt.Sprintf("name an item, as in %s[%s=…]", at.inKind(), strings.Join(s.Keys, "=…,"))
}

// unknown reports a field that an object does not have.
func (k *ignoreChecker) unknown(i int, s *openapi.Schema, at *fieldPath) {
	if s.Open {
		return
	}
	name := k.path.Steps[i].Field
	finding := k.report(i, diagnostic.CodeIgnoreUnknown, "%s has no field %s", at.kind(), at.to(name, s).inKind())
	if near, ok := diagnostic.Nearest(name, slices.Collect(maps.Keys(s.Fields))); ok {
		finding.WithHint("did you mean %q?", near)
		return
	}
	finding.Hint = listFields(s)
}

func (k *ignoreChecker) report(i int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return k.c.reportAt(k.n, k.path.At[i], code, format, args...)
}
