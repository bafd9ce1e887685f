package rules

import (
	"strconv"

	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/selection"
)

// parentLabels is how expressions read the labels of the parent.
const parentLabels = rootParent + ".metadata.labels"

// labelled says whether the selector guarantees that every parent has some label.
func (p *parentSpec) labelled() bool { return p.guarantees("") }

// guarantees says whether every parent has the label, or any where that is empty, because the selector asks for it.
func (p *parentSpec) guarantees(label string) bool {
	if p.selector == nil {
		return false
	}
	requirements, _ := p.selector.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals, selection.Exists:
			if label == "" || r.Key() == label {
				return true
			}
		}
	}
	return false
}

// labelMayBeMissing warns of a label of the parent that is read as if it were always there, where the selector guarantees
// others: where it guarantees none, the warning is about the labels as a whole.
func (t *typing) labelMayBeMissing(e, operand ast.Expr, label string) {
	parent := &t.c.rule.parent
	if t.expr.Source(operand) != parentLabels || !parent.labelled() || parent.guarantees(label) {
		return
	}
	optional := parentLabels + ".?" + label
	if e.Kind() != ast.SelectKind {
		optional = parentLabels + "[?" + strconv.Quote(label) + "]"
	}
	t.warnMissing(e, label, optional, "spec.parent.selector does not ask for this label")
}
