package syntax

import (
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// definition is a CustomResourceDefinition in its source.
type definition struct {
	src  *yamltree.Source
	root *yamltree.Node
}

// DefinitionPlace is a place in a CustomResourceDefinition.
type DefinitionPlace struct {
	// Path leads to it: names of fields, keys of maps, and indices of lists, from 0. If the
	// definition has no such place, the last one on the way counts.
	Path []string
	// Name is true for the last name of the path, and false for the value there.
	Name bool
	// Offset is the byte within the value, if that is text.
	Offset int
}

// DefinitionFinding makes a finding about CRDs[i]. The message comes from the validation of
// the API server.
func (docs *Documents) DefinitionFinding(i int, at DefinitionPlace, message string) diagnostic.Finding {
	d := docs.definitions[i]
	f := diagnostic.New(d.place(at), diagnostic.CodeRefusedCRD, "%s", message)
	return *f.WithLines(d.src)
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
