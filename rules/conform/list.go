package conform

import (
	"fmt"
	"slices"
	"strings"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// sequence compares a list with its schema.
func (t *Template) sequence(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	if s.Type != openapi.List {
		finding := t.report(n, diagnostic.CodeFieldForm, "%s must be %s, and is a list", at, check.Wants(s))
		if s.Type == openapi.Object || s.Type == openapi.Map {
			finding.WithHint("write its fields without \"- \"")
		}
		return
	}
	// The API server takes a list without keys as one value, so its items are complete even if others write to the object.
	inner := *t
	inner.Shared = t.Shared && len(s.Keys) > 0
	for i, item := range n.Items {
		if scanner.IsSpread(item) {
			inner.result(item, s, at)
			continue
		}
		inner.value(item, s.Items, at.item(i, s))
	}
	t.uniqueItems(n, s, at)
}

// uniqueItems reports items of a list-map that have the same keys.
func (t *Template) uniqueItems(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	if len(s.Keys) == 0 {
		return
	}
	type seenItem struct {
		index int
		key   *yamltree.Node
	}
	seen := map[string]seenItem{}
	for i, item := range n.Items {
		identity, key, ok := itemIdentity(item, s.Keys)
		if !ok {
			continue
		}
		first, twice := seen[identity]
		if !twice {
			seen[identity] = seenItem{i, key}
			continue
		}
		t.report(key, diagnostic.CodeItemTwice, "%s has the same %s as [%d]: each item of this list needs its own",
			at.item(i, s), check.Listed(s.Keys, "and"), first.index).WithRelated(t.at(first.key), "the first one")
	}
}

// itemIdentity returns the values of the keys of a list-map's item as text, and the node of the first. ok is false if
// some are not known.
func itemIdentity(item *yamltree.Node, keys []string) (identity string, first *yamltree.Node, ok bool) {
	if item.Kind != yamltree.Mapping || len(item.Lost) > 0 || slices.ContainsFunc(item.Fields, func(fd yamltree.Field) bool { return scanner.HasExpression(fd.Name) }) {
		return "", nil, false
	}
	var b strings.Builder
	for _, key := range keys {
		n := item.Get(key)
		switch {
		case n == nil || isNull(n):
			b.WriteString("-\n") // the default, which is the same for all items
			continue
		case n.Kind != yamltree.Scalar:
			return "", nil, false
		}
		if first == nil {
			first = n
		}
		fmt.Fprintf(&b, "%T %q\n", n.Value, fmt.Sprint(n.Value))
	}
	return b.String(), first, first != nil
}
