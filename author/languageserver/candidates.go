package languageserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/shortschema"
)

// candidate is a name or value that can be at the cursor.
type candidate struct {
	label string
	// insert is the text to insert. Empty: the label.
	insert string
	kind   int
	// detail is the type in a few words. doc is documentation in Markdown.
	detail, doc string
	// at is where it is defined in the text; nil if it is not.
	at *yaml.Node
	// present is true for a field that the mapping has already: hover explains it, completion does not offer it.
	present bool
}

// candidates lists what can be at the cursor, in the order of completion.
func (s *server) candidates(ctx context.Context, c *cursor) []candidate {
	if c.expression != nil {
		return s.inExpression(ctx, c)
	}
	t := language.Document()
	for i, name := range c.path {
		if t = t.Below(name); t == nil {
			return nil
		}
		switch t.Form {
		case language.Object:
			return s.inTemplate(ctx, c, i+1)
		case language.ShortSchema:
			return c.inShortSchema(i)
		}
	}
	if c.isName {
		return c.fieldNames(t)
	}
	return s.values(ctx, c, t)
}

// fieldNames lists the fields of a type of the language.
func (c *cursor) fieldNames(t *language.Type) []candidate {
	var all []candidate
	mapping := c.nodes[len(c.nodes)-1]
	for _, form := range t.Forms() {
		for _, f := range form.Fields {
			doc := f.Description()
			if f.Required {
				doc += " Required."
			}
			all = append(all, candidate{
				label: f.Name, insert: f.Name + behind(&f.Type), kind: itemField, detail: typeWords(&f.Type), doc: doc, present: get(mapping, f.Name) != nil,
			})
		}
	}
	return all
}

// behind is what follows the name of a field.
func behind(t *language.Type) string {
	switch t.Form {
	case language.Mapping, language.Texts, language.List, language.Object, language.ShortSchema:
		return ":"
	}
	return ": "
}

// typeWords describes the type of a field in a few words.
func typeWords(t *language.Type) string {
	var all []string
	for _, form := range t.Forms() {
		word := map[language.Form]string{
			language.Text: "string", language.Boolean: "boolean", language.Number: "integer", language.Mapping: "object",
			language.Texts: "map of string", language.Object: "object", language.Anything: "any", language.ShortSchema: "object",
		}[form.Form]
		switch {
		case form.Form == language.List:
			word = "list of " + typeWords(form.Items)
		case form.Expressions == language.Required:
			word = "expression"
			if form.Gives != "" {
				word += " of " + form.Gives
			}
		case len(form.Words) > 0:
			word = strings.Join(form.Words, " | ")
		}
		if form.Expressions == language.Allowed && form.Form == language.Text {
			word += " | expression"
		}
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return strings.Join(all, " | ")
}

// values lists the values that a field can have.
func (s *server) values(ctx context.Context, c *cursor, t *language.Type) []candidate {
	var all []candidate
	for _, form := range t.Forms() {
		for _, word := range form.Words {
			all = append(all, candidate{label: word, kind: itemValue})
		}
		if form.Form == language.Boolean {
			all = append(all, candidate{label: "true", kind: itemValue}, candidate{label: "false", kind: itemValue})
		}
	}
	if len(all) > 0 || len(c.path) < 2 {
		return all
	}
	last, before := c.path[len(c.path)-1], c.path[len(c.path)-2]
	switch {
	case last == "" && before == "dependsOn", last == "sameAs":
		return c.ids("children")
	case (last == "kind" || last == "apiVersion") && c.path[0] == "spec":
		return s.kinds(ctx, c, last, c.mapping(len(c.path)-1))
	}
	return nil
}

// ids lists the names in a group of the rule: ids of children or lookups, or names of variables.
func (c *cursor) ids(group string) []candidate {
	lists := []*yaml.Node{get(get(c.root, "spec"), group)}
	name := "id"
	switch group {
	case "children":
		lists = append(lists, get(get(get(c.root, "spec"), "finalize"), group))
	case "variables":
		name = "name"
		for _, n := range c.nodes {
			if variables := get(n, group); variables != nil && variables != lists[0] {
				lists = append(lists, variables)
			}
		}
	}
	var all []candidate
	for _, list := range lists {
		for _, item := range items(list) {
			id := get(item, name)
			if id == nil || id.Value == "" || strings.Contains(id.Value, marker) {
				continue
			}
			all = append(all, candidate{label: id.Value, kind: itemVariable, detail: detailOf(group, item), at: id})
		}
	}
	return all
}

// detailOf describes an item of a group.
func detailOf(group string, item *yaml.Node) string {
	kind := get(item, "kind")
	if group == "children" {
		kind = get(get(item, "template"), "kind")
	}
	detail := map[string]string{
		"children": "child", "lookups": "lookup", "patches": "patch", "variables": "variable", "conditions": "condition", "events": "event",
	}[group]
	if kind != nil && kind.Value != "" {
		detail += " " + kind.Value
	}
	if get(item, "forEach") != nil || group == "lookups" && get(item, "selector") != nil {
		detail += ", a list"
	}
	return detail
}

// get is the value of a mapping's field; nil if there is none.
func get(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// completion answers textDocument/completion.
func (s *server) completion(ctx context.Context, t *text, p *documentParams) (any, error) {
	out := []completionItem{}
	c := find(t, p.Position)
	if c == nil {
		return out, nil
	}
	rest := t.line(c.line)[c.to:]
	for i, found := range s.candidates(ctx, c) {
		if found.present || !strings.HasPrefix(strings.ToLower(found.label), strings.ToLower(c.typed)) {
			continue
		}
		insert := found.insert
		if insert == "" || strings.HasPrefix(strings.TrimLeft(rest, " "), ":") {
			insert = found.label
		}
		out = append(out, completionItem{
			Label: found.label, Kind: found.kind, Detail: found.detail, Documentation: markdown(found.doc),
			SortText: fmt.Sprintf("%03d", i%1000), // keeps the order
			TextEdit: &textEdit{Range: textRange{Start: t.at(c.line, c.from), End: t.at(c.line, c.to)}, NewText: insert},
		})
	}
	return out, nil
}

// here is the candidate whose name is at the position; nil if there is none.
func (s *server) here(ctx context.Context, t *text, p position) (*candidate, textRange) {
	c := find(t, p)
	if c == nil || c.word == "" {
		return nil, textRange{}
	}
	in := textRange{Start: t.at(c.line, c.from), End: t.at(c.line, c.to)}
	for _, found := range s.candidates(ctx, c) {
		if found.label == c.word {
			return &found, in
		}
	}
	return nil, in
}

// hover answers textDocument/hover.
func (s *server) hover(ctx context.Context, t *text, p *documentParams) (any, error) {
	found, in := s.here(ctx, t, p.Position)
	if found == nil || found.detail == "" && found.doc == "" {
		return nil, nil
	}
	head := "**" + found.label + "**"
	if found.detail != "" {
		head += ": " + found.detail
	}
	return &hover{Contents: markdown(strings.TrimSpace(head + "\n\n" + found.doc)), Range: in}, nil
}

// definition answers textDocument/definition.
func (s *server) definition(ctx context.Context, t *text, p *documentParams) (any, error) {
	found, _ := s.here(ctx, t, p.Position)
	if found == nil || found.at == nil {
		return nil, nil
	}
	return location{URI: t.uri, Range: rangeOf(t, found.at)}, nil
}

// rangeOf is the range of a scalar.
func rangeOf(t *text, n *yaml.Node) textRange {
	return t.span(n.Line, n.Column, len([]rune(n.Value)))
}

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
		found := candidate{label: m.Name, kind: itemField, detail: "marker of " + strings.Join(m.For(), ", "), doc: m.Doc}
		if m.Value != "" {
			found.insert = m.Name + "="
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
