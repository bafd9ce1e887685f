package validation

import (
	"regexp"
	"slices"

	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// isOpen reports whether a node may have unknown fields, because the node or one of its keys is an expression.
func isOpen(n *yamltree.Node) bool {
	return n.Kind != yamltree.Mapping || len(n.Lost) > 0 ||
		slices.ContainsFunc(n.Fields, func(f yamltree.Field) bool { return scanner.HasExpression(f.Name) })
}

// lacks reports whether a mapping certainly does not have a field. A field that is null does not exist.
func lacks(n *yamltree.Node, field string) bool {
	if n == nil {
		return true
	}
	if n.Kind == yamltree.Scalar {
		return n.Value == nil
	}
	value := n.Get(field)
	return !isOpen(n) && (value == nil || isNull(value))
}

func isNull(n *yamltree.Node) bool { return n.Kind == yamltree.Scalar && n.Value == nil }

// at returns the node at a path of fields, or nil.
func at(n *yamltree.Node, path ...string) *yamltree.Node {
	for _, field := range path {
		n = n.Get(field)
	}
	return n
}

// literal returns the text of a node without expressions.
func literal(n *yamltree.Node) (string, bool) {
	text, ok := n.Text()
	return text, ok && !scanner.HasExpression(text)
}

// items returns the items of a list that are mappings. all is true if the list certainly has no others.
func items(n *yamltree.Node) (found []*yamltree.Node, all bool) {
	if n == nil || isNull(n) {
		return nil, true
	}
	if n.Kind != yamltree.Sequence {
		return nil, false
	}
	all = len(n.Lost) == 0
	for _, item := range n.Items {
		if item.Kind == yamltree.Mapping {
			found = append(found, item)
		} else {
			all = false
		}
	}
	return found, all
}

// alwaysText matches expressions whose value is always text. Others can be null, which leaves a field out.
var alwaysText = regexp.MustCompile(`^\$\{\s*parent\.metadata\.(name|namespace|uid)\s*\}$`)

// isText reports whether the value of a node is certainly text.
func isText(n *yamltree.Node) bool {
	text, ok := n.Text()
	if !ok || !scanner.HasExpression(text) || alwaysText.MatchString(text) {
		return ok
	}
	parts, err := scanner.Scan(text)
	if err != nil {
		return false
	}
	_, whole := scanner.Whole(parts)
	return !whole // text around an expression
}

// hasOther reports whether a mapping has other fields than these.
func hasOther(n *yamltree.Node, fields ...string) bool {
	return slices.ContainsFunc(n.Fields, func(f yamltree.Field) bool { return !slices.Contains(fields, f.Name) })
}
