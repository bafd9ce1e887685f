package rules

import (
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// definition is a CustomResourceDefinition as it stands in its source.
type definition struct {
	src  *yamltree.Source
	root *yamltree.Node
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
	f.Text = d.src.LineAt(f.Position)
	return *f
}

func (d definition) place(at DefinitionPlace) diagnostic.Position {
	value, name := d.root, d.root
	for _, step := range at.Path {
		key, below := value.Step(step)
		if below == nil {
			return d.src.At(value)
		}
		value, name = below, key
	}
	switch {
	case at.Name:
		return d.src.At(name)
	case at.Offset > 0:
		return d.src.Within(value, at.Offset)
	default:
		return d.src.At(value)
	}
}
