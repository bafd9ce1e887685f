package rules

import (
	"strconv"

	"github.com/google/cel-go/common/ast"

	"kanon.dev/kanon/rules/flow"
)

// parentLabels is how expressions read the labels of the parent.
const parentLabels = flow.RootParent + ".metadata.labels"

// labelMayBeMissing warns of a label of the parent that is read as if it were always there, where the selector guarantees
// others: where it guarantees none, the warning is about the labels as a whole.
func (t *typing) labelMayBeMissing(e, operand ast.Expr, label string) {
	parent := &t.c.rule.Parent
	if t.expr.Source(operand) != parentLabels || !parent.Labelled() || parent.Guarantees(label) {
		return
	}
	optional := parentLabels + ".?" + label
	if e.Kind() != ast.SelectKind {
		optional = parentLabels + "[?" + strconv.Quote(label) + "]"
	}
	t.warnMissing(e, label, optional, "spec.parent.selector does not ask for this label")
}
