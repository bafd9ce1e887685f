package syntax

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// UpdatePolicy is how the engine updates the objects of a child.
type UpdatePolicy string

const (
	// UpdateApply updates an object whenever it differs.
	UpdateApply UpdatePolicy = "Apply"
	// UpdateApplyOrRecreate updates an object whenever it differs. If the API server
	// rejects the change, the object is recreated.
	UpdateApplyOrRecreate UpdatePolicy = "ApplyOrRecreate"
	// UpdateRecreate recreates an object whenever the rule renders something else for it.
	UpdateRecreate UpdatePolicy = "Recreate"
	// UpdateCreateOnly creates an object and never updates it.
	UpdateCreateOnly UpdatePolicy = "CreateOnly"
)

// updatePolicies are the words for an UpdatePolicy.
func updatePolicies() []string {
	return []string{string(UpdateApply), string(UpdateApplyOrRecreate), string(UpdateRecreate), string(UpdateCreateOnly)}
}

func (d *decoder) updatePolicy(n *yamltree.Node, path string) UpdatePolicy {
	text, ok := d.plainString(n, path)
	if ok && !slices.Contains(updatePolicies(), text) {
		names := updatePolicies()
		d.report(n, diagnostic.CodeNotOneOf, "%s must be %s or %s, and is %q", path, strings.Join(names[:len(names)-1], ", "), names[len(names)-1], text).
			Suggest(text, updatePolicies())
	}
	return UpdatePolicy(text)
}
