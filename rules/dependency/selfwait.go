package dependency

import (
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// A child whose template needs a field of its own observed object waits for itself: the field comes with the object, which is
// never created.

// CheckSelfWait reports the expressions of a template that always read a field of the child's own observed object. It
// skips a child whose object may exist without the rule having created it.
func CheckSelfWait(spec *syntax.Child, r *reporting.Reporter, parsed func(n *yamltree.Node) *celenv.Expression) {
	if spec.ID == "" || spec.Many() || spec.Adopt || spec.When != nil || spec.CreateWhen != nil {
		return
	}
	for n := range spec.Template.All() {
		if x := parsed(n); x != nil && flow.AlwaysReads(x.Root(), spec.ID) {
			r.ReportNode(n, diagnostic.CodeSelfReference, "%s cannot be created: this waits for a field of observed.%s, which comes with the object", spec.ID, spec.ID).
				WithHint("begin with a ?, as in observed.%s.?…, and give a value for when the object does not exist, with orValue(…) or optMap(…)", spec.ID)
		}
	}
}
