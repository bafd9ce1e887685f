package languageserver

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/language"
)

// symbols answers textDocument/documentSymbol: the rules of a text, with their variables, lookups, children, patches,
// conditions and events.
func symbols(t *text) []documentSymbol {
	all := []documentSymbol{}
	for first := 0; first < len(t.lines); {
		_, last := t.document(first)
		lines := make([]string, last)
		copy(lines[first:], t.lines[first:last])
		if first > 0 {
			lines[first] = ""
		}
		if root, _ := readable(t.uri, lines, -1, maxRepairs); root != nil {
			if kind := get(root, "kind"); kind != nil && kind.Value == language.Kind {
				all = append(all, ruleSymbol(t, root))
			}
		}
		first = last
	}
	return all
}

func ruleSymbol(t *text, root *yaml.Node) documentSymbol {
	name := get(get(root, "metadata"), "name")
	spec := get(root, "spec")
	out := documentSymbol{Name: "(no name)", Kind: symbolClass, Range: extent(t, root), SelectionRange: extent(t, root)}
	if name != nil && name.Value != "" {
		out.Name, out.SelectionRange = name.Value, rangeOf(t, name)
	}
	if kind := get(get(spec, "parent"), "kind"); kind != nil {
		out.Detail = "Rule for " + kind.Value
	}
	for _, group := range []struct {
		name, id string
		kind     int
	}{
		{"variables", "name", symbolVariable},
		{"lookups", "id", symbolObject},
		{"children", "id", symbolObject},
		{"patches", "id", symbolObject},
		{"conditions", "type", symbolField},
		{"events", "reason", symbolEvent},
	} {
		lists := items(get(spec, group.name))
		if group.name == "children" {
			lists = append(append([]*yaml.Node(nil), lists...), items(get(get(spec, "finalize"), "children"))...)
		}
		for _, item := range lists {
			id := get(item, group.id)
			if id == nil || id.Value == "" {
				continue
			}
			out.Children = append(out.Children, documentSymbol{
				Name: id.Value, Detail: detailOf(group.name, item), Kind: group.kind, Range: extent(t, item), SelectionRange: rangeOf(t, id),
			})
		}
	}
	return out
}

// extent is the range of a node, up to the end of its last line.
func extent(t *text, n *yaml.Node) textRange {
	last := n.Line
	var visit func(*yaml.Node)
	visit = func(n *yaml.Node) {
		end := n.Line
		if n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			end += strings.Count(strings.TrimRight(n.Value, "\n"), "\n") + 1
		}
		last = max(last, min(end, len(t.lines)))
		for _, c := range n.Content {
			visit(c)
		}
	}
	visit(n)
	start := t.span(n.Line, n.Column, 0).Start
	return textRange{Start: start, End: t.at(last-1, len(t.line(last-1)))}
}
