package rules

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/flow"
)

// notePast notes that something is read of a lookup that may be null.
func (a *analysis) notePast(e ast.Expr, from *origin) {
	if from.optional == "" {
		return
	}
	a.uses.Nodes = append(a.uses.Nodes, flow.Ref{Root: flow.RootLookups, ID: from.optional, Hard: true, Past: true, Pos: a.at(e.ID())})
}

// noteNullTest notes a comparison of a lookup with null, which asks whether it is
// there.
func (a *analysis) noteNullTest(call ast.CallExpr, operands []*origin) {
	if fn := call.FunctionName(); fn != operators.Equals && fn != operators.NotEquals {
		return
	}
	for i, arg := range call.Args() {
		if other := operands[1-i]; other.optional != "" && flow.IsNullLiteral(arg) {
			a.uses.Nodes = append(a.uses.Nodes, flow.Ref{Root: flow.RootLookups, ID: other.optional})
		}
	}
}
