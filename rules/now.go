package rules

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// What depends on now is followed through expressions like where a value comes
// from. now itself, and what is now with a constant added or taken from a
// constant, goes with the clock at a speed that is known here: 1 for now and
// now - t, -1 for t - now. A comparison of two such values, and a function that
// makes steps of a time, does not go with it: its value stays until a time that
// the evaluation can compute (run.Clock). What is made of now in any other way
// drifts: it can change with every second, and nobody knows when. It may be held
// in a variable, but nothing can be decided by it, nor rendered from it unless
// spec.requeueAfter says how often.

// clocked is an origin that goes with the clock.
func clocked(speed int) *origin { return &origin{speed: speed} }

// moves says whether a value can be another one at each second.
func (o *origin) moves() bool {
	if o == nil {
		return false
	}
	return o.speed != 0 || o.drifts
}

// steady is the origin of a value that became JSON: a time is text then, of
// which nothing is known any more when it changes.
func steady(o *origin) *origin {
	if o.speed == 0 {
		return o
	}
	return &origin{waits: o.waits, drifts: true}
}

// maxSpeed bounds what is followed of sums such as now - t + (now - u).
const maxSpeed = 100

// clockedCall is the origin of a call as far as the time is concerned; nil
// where no operand goes with the clock. operands are in the order of
// celenv.Operands.
func (a *analysis) clockedCall(e ast.Expr, operands []*origin) *origin {
	moving := make([]int, len(operands))
	some, drifts := false, false
	for i, o := range operands {
		moving[i] = o.speed
		some = some || o.speed != 0
		drifts = drifts || o.drifts
	}
	switch {
	case drifts:
		return &origin{drifts: true}
	case !some:
		return nil
	}
	function := e.AsCall().FunctionName()
	switch {
	case function == operators.Add:
		return a.sum(e, moving[0]+moving[1])
	case function == operators.Subtract:
		return a.sum(e, moving[0]-moving[1])
	case isConversion(function) && len(moving) == 1:
		return clocked(moving[0])
	case run.IsComparison(function), a.c.env.ChangesAt(function, moving):
		a.moving[e.ID()] = slices.Clone(moving)
		return fixed()
	}
	return a.drift(e)
}

// isConversion says whether a function gives a time or a span as it is.
func isConversion(function string) bool {
	return function == "timestamp" || function == "duration" || function == "dyn"
}

func (a *analysis) sum(e ast.Expr, speed int) *origin {
	if speed > maxSpeed || speed < -maxSpeed {
		return a.drift(e)
	}
	return clocked(speed)
}

// drift notes the first node at which a value begins to drift.
func (a *analysis) drift(e ast.Expr) *origin {
	if a.driftsAt == nil {
		a.driftsAt = e
	}
	return &origin{drifts: true}
}

// conditional is the origin of yes where the condition holds, and else of no.
func (a *analysis) conditional(e ast.Expr, condition, yes, no *origin) *origin {
	out := *join(yes, no)
	if yes.root == no.root && yes.root != "" {
		out = *yes
	}
	switch {
	case !condition.moves() && !yes.drifts && !no.drifts && yes.speed == no.speed:
		out.speed, out.drifts = yes.speed, false
	case condition.moves() || yes.moves() || no.moves():
		out.speed, out.drifts = 0, a.drift(e).drifts
	}
	return &out
}

// checkMoving reports an expression of which the value goes with the clock.
func (a *analysis) checkMoving(from *origin) {
	if from == nil || a.scope.mayMove || !from.moves() {
		return
	}
	if a.scope.rendered && a.c.rule.RequeueAfter != nil {
		a.c.drifts = true
		return
	}
	at := a.expr.Root()
	if a.driftsAt != nil {
		at = a.driftsAt
	}
	other := ""
	if a.scope.rendered {
		other = "; or set with spec.requeueAfter how often to render it again"
	}
	a.report(at.ID(), diagnostic.CodeMovingTime, "%s must not change with every second, and this does, because it uses now", a.scope.place).
		WithHint(`compare now with a time, as in now > t, or take steps, as in truncate(now, duration("1h"))%s`, other)
}

// checkSteadyIdentity reports a name or a namespace that goes with the clock,
// which would be another object each time.
func (c *compiler) checkSteadyIdentity(spec *syntax.Child, from *origin) {
	if from == nil || c.rule.RequeueAfter == nil {
		return // it was reported
	}
	metadata, n := from.fields["metadata"], spec.Template.Get("metadata")
	if metadata == nil || n == nil {
		return
	}
	report := func(n *yamltree.Node, what string) {
		c.report(c.rule.Source.At(n), diagnostic.CodeMovingTime, "%s must not change with every second, which would create a new object each time, and this does, because it uses now", what).
			WithHint(`take steps, as in truncate(now, duration("1h"))`)
	}
	if n.Kind != yamltree.Mapping && metadata.moves() {
		report(n, "metadata")
		return
	}
	for _, name := range []string{"name", "namespace"} {
		if n.Get(name) != nil && metadata.fields[name].moves() {
			report(n.Get(name), "metadata."+name)
		}
	}
}
