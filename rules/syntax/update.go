package syntax

import (
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/yamltree"
)

// UpdatePolicy is how the engine updates the objects of a child.
type UpdatePolicy string

const (
	// UpdateApply updates an object whenever it differs.
	UpdateApply UpdatePolicy = "Apply"
	// UpdateApplyOrRecreate updates an object whenever it differs. If the API server rejects the change, the object is
	// recreated.
	UpdateApplyOrRecreate UpdatePolicy = "ApplyOrRecreate"
	// UpdateRecreate recreates an object whenever the rule renders something else for it.
	UpdateRecreate UpdatePolicy = "Recreate"
	// UpdateCreateOnly creates an object and never updates it.
	UpdateCreateOnly UpdatePolicy = "CreateOnly"
)

func (d *decoder) updatePolicy(n *yamltree.Node, path string) UpdatePolicy {
	return UpdatePolicy(d.word(n, path, language.Child().Words("updatePolicy")))
}
