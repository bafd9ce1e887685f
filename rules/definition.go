package rules

import (
	"strconv"

	"kanon.dev/kanon/rules/diagnostic"
)

// definition is a CustomResourceDefinition as it stands in its source.
type definition struct {
	src  *source
	root *node
}

// DefinitionPlace is a place in a CustomResourceDefinition.
type DefinitionPlace struct {
	// Path leads to it: names of fields, keys of maps, and indices of lists, from 0. Where the definition has no such
	// place, the last one on the way there counts.
	Path []string
	// Name is true for the last name of the path, and false for its value.
	Name bool
	// Offset is the byte of the value that is meant, where that is text.
	Offset int
}

// DefinitionFinding is a finding about CRDs[i] that somebody else has made.
func (docs *Documents) DefinitionFinding(i int, at DefinitionPlace, message string) diagnostic.Finding {
	d := docs.definitions[i]
	f := diagnostic.New(d.place(at), diagnostic.CodeRefusedCRD, "%s", message)
	f.Text = d.src.lineAt(f.Position)
	return *f
}

func (d definition) place(at DefinitionPlace) diagnostic.Position {
	value, name := d.root, d.root
	for _, step := range at.Path {
		key, below := value.step(step)
		if below == nil {
			return d.src.at(value.yaml)
		}
		value, name = below, key
	}
	switch {
	case at.Name:
		return d.src.at(name.yaml)
	case at.Offset > 0:
		return d.src.within(value.yaml, at.Offset)
	default:
		return d.src.at(value.yaml)
	}
}

// step is what a node has under a name or an index, with what names it; nil where it has nothing there.
func (n *node) step(name string) (key, value *node) {
	for _, f := range n.fields {
		if f.name == name {
			return f.key, f.value
		}
	}
	if i, err := strconv.Atoi(name); err == nil && n.kind == sequenceNode && i >= 0 && i < len(n.items) {
		return n.items[i], n.items[i]
	}
	return nil, nil
}
