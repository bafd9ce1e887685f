package identity

import (
	"slices"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// CheckSteady reports a name or a namespace that changes with the clock, so that each evaluation would render another
// object.
func CheckSteady(r *reporting.Reporter, spec *syntax.Child, from *flow.Origin) {
	if from == nil {
		return // a mistake in the template was reported
	}
	metadata, n := from.Fields["metadata"], spec.Template.Get("metadata")
	if metadata == nil || n == nil {
		return
	}
	report := func(n *yamltree.Node, what string) {
		r.ReportNode(n, diagnostic.CodeMovingTime, "%s must not change with every second, which would create a new object each time, and this does, because it uses now", what).
			WithHint(`take steps, as in truncate(now, duration("1h"))`)
	}
	if n.Kind != yamltree.Mapping && metadata.Moves() {
		report(n, "metadata")
		return
	}
	for _, name := range []string{"name", "namespace"} {
		if n.Get(name) != nil && metadata.Fields[name].Moves() {
			report(n.Get(name), "metadata."+name)
		}
	}
}

// CheckRandom reports a random name or namespace, with which each evaluation would render another object.
func CheckRandom(r *reporting.Reporter, spec *syntax.Child, u *flow.Uses) {
	metadata := spec.Template.Get("metadata")
	for _, n := range []*yamltree.Node{metadata, metadata.Get("name"), metadata.Get("namespace")} {
		if n != nil && slices.Contains(u.Random, n) {
			r.ReportNode(n, diagnostic.CodeRandomIdentity, "%s would create a new object at every evaluation, because its name is random", spec.Label()).
				WithHint("render the name from what is different for each object")
		}
	}
}
