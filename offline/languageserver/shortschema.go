package languageserver

import (
	"strings"

	"kanon.dev/kanon/rules/shortschema"
)

// inShortSchema lists the types that a field of a short schema can have, or the markers after a |. The names of fields
// are free. at is the index in the path that leads to the fields.
func (c *cursor) inShortSchema(at int) []candidate {
	if c.isName {
		return nil
	}
	written, _, _ := strings.Cut(c.nodes[len(c.nodes)-1].Value, marker)
	if strings.Contains(written, "|") {
		return markers()
	}
	all := c.ownTypes(at)
	for _, t := range shortschema.Types() {
		all = append(all, candidate{label: t.Name, kind: itemValue, detail: "type", doc: t.Doc})
	}
	return all
}

func markers() []candidate {
	var all []candidate
	for _, m := range shortschema.Markers() {
		found := candidate{label: m.Name, insert: m.Name, kind: itemField, detail: "marker of " + strings.Join(m.For(), ", "), doc: m.Doc}
		if m.Value != "" {
			found.insert += "="
			found.doc += "\n\nFor example: `" + m.Name + "=" + m.Value + "`"
		}
		all = append(all, found)
	}
	return all
}

// ownTypes lists the types that the schema declares under types.
func (c *cursor) ownTypes(at int) []candidate {
	types := get(c.nodes[at], "types")
	var all []candidate
	for i := 0; types != nil && i+1 < len(types.Content); i += 2 {
		name := types.Content[i]
		all = append(all, candidate{label: name.Value, kind: itemValue, detail: "type", at: name})
	}
	return all
}
