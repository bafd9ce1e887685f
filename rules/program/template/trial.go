package template

import (
	"math"

	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/flow"
)

// Trial is the scope in which the compiler evaluates expressions that read nothing but constant variables.
type Trial struct {
	// Variables are the constant ones; nil for none.
	Variables run.Members

	session Session
}

// NewTrial begins a trial with a limited cost. Lists are not limited: an evaluation reports what the limits refuse.
func NewTrial(limits Limits, cost uint64) *Trial {
	limits.ListLength = math.MaxInt
	t := &Trial{session: NewSession(nil, &limits, nil, false)} //nolint:staticcheck // Deadline bounds it.
	t.session.Budget.Cost = cost
	t.session.MakeRoom()
	return t
}

// Session implements Scope.
func (t *Trial) Session() *Session { return &t.session }

// ReadOnly implements Scope.
func (t *Trial) ReadOnly() bool { return false }

// Parent implements interpreter.Activation.
func (t *Trial) Parent() interpreter.Activation { return nil }

// ResolveName implements interpreter.Activation.
func (t *Trial) ResolveName(name string) (any, bool) {
	if name == flow.RootVariables && t.Variables != nil {
		return t.Variables, true
	}
	return &t.session.Budget, name == run.BudgetName
}
