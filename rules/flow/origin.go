package flow

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
)

// Origin is where a value comes from. It decides what follows if something in the value does not exist.
type Origin struct {
	// Waits is true for what fills in later: children, lookups, observed, self and the parent's status.
	Waits bool
	// Drifts is true if the value changes with the clock in a way that is not followed. speed is by how many seconds it
	// grows in a second (clock.go).
	Drifts bool
	speed  int
	// Root is a name whose members have origins of their own.
	Root string
	// Fields are the origins of the fields of a mapping in a template.
	Fields map[string]*Origin
	// complete is true for the list of a child or a lookup, which either has all its items or does not exist.
	complete bool
	// optional is the lookup that the value is, if that can be null.
	optional string
}

func fixed() *Origin { return &Origin{} }
func later() *Origin { return &Origin{Waits: true} }

// Join is the origin of a value that may come from either.
func Join(a, b *Origin) *Origin {
	switch {
	case a == b || b == nil:
		return a
	case a == nil:
		return b
	}
	return &Origin{Waits: a.Waits || b.Waits, Drifts: a.Moves() || b.Moves()}
}

// Moves reports whether a value can change with every second.
func (o *Origin) Moves() bool { return o != nil && (o.speed != 0 || o.Drifts) }

// Steady is the origin of a value that became JSON. A time is text then, and it is not known when that changes.
func (o *Origin) Steady() *Origin {
	if o.speed == 0 {
		return o
	}
	return &Origin{Waits: o.Waits, Drifts: true}
}

// What depends on now is followed through expressions like any other origin. now itself, and now with a constant added
// to it or subtracted from a constant, moves with the clock at a speed that is known here: 1 for now and now - t, -1
// for t - now. A comparison of two such values, and a function that rounds a time, does not move: its value stays until
// a time that the evaluation can compute (celenv.Clock). Everything else that is computed from now drifts: it can change
// with every second, and nobody knows when. A variable may have such a value, but nothing may be decided by it, nor
// rendered from it unless spec.requeueAfter sets how often.

func clocked(speed int) *Origin { return &Origin{speed: speed} }

// maxSpeed bounds what is followed of sums such as now - t + (now - u).
const maxSpeed = 100

// clockedCall is the origin of a call with regard to the clock; nil if no operand moves. operands are in the order of
// celenv.Operands.
func (a *analyzer) clockedCall(e ast.Expr, operands []*Origin) *Origin {
	moving := make([]int, len(operands))
	some, drifts := false, false
	for i, o := range operands {
		moving[i] = o.speed
		some = some || o.speed != 0
		drifts = drifts || o.Drifts
	}
	switch {
	case drifts:
		return &Origin{Drifts: true}
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
	case celenv.IsComparison(function), a.Expr.Env().Own(function).ChangesAt(moving):
		a.out.Moving[e.ID()] = slices.Clone(moving)
		return fixed()
	}
	return a.drift(e)
}

func isConversion(function string) bool {
	return function == "timestamp" || function == "duration" || function == "dyn"
}

func (a *analyzer) sum(e ast.Expr, speed int) *Origin {
	if speed > maxSpeed || speed < -maxSpeed {
		return a.drift(e)
	}
	return clocked(speed)
}

// drift records the first node at which a value begins to drift.
func (a *analyzer) drift(e ast.Expr) *Origin {
	if a.driftsAt == nil {
		a.driftsAt = e
	}
	return &Origin{Drifts: true}
}

func (a *analyzer) conditional(e ast.Expr, condition, yes, no *Origin) *Origin {
	out := *Join(yes, no)
	if yes.Root == no.Root && yes.Root != "" {
		out = *yes
	} else {
		a.noteWhole(yes)
		a.noteWhole(no)
	}
	switch {
	case !condition.Moves() && !yes.Drifts && !no.Drifts && yes.speed == no.speed:
		out.speed, out.Drifts = yes.speed, false
	case condition.Moves() || yes.Moves() || no.Moves():
		out.speed, out.Drifts = 0, a.drift(e).Drifts
	}
	return &out
}

// checkMoving reports an expression whose value changes with the clock.
func (a *analyzer) checkMoving(from *Origin) {
	if from == nil || a.Scope.MayMove || !from.Moves() {
		return
	}
	if a.Scope.Rendered && a.Rule.RequeueAfter != nil {
		a.out.Drifts = true
		return
	}
	at := a.Expr.Root()
	if a.driftsAt != nil {
		at = a.driftsAt
	}
	other := ""
	if a.Scope.Rendered {
		other = `; for the time at which something happened, take truncate(now, duration("1s")) and keep what was written` +
			"; for the current time, set with spec.requeueAfter how often to render it again"
	}
	a.report(at, diagnostic.CodeMovingTime, "%s must not change with every second, and this does, because it uses now", a.Scope.Place).
		WithHint(`compare now with a time, as in now > t, or take steps, as in truncate(now, duration("1h"))%s`, other)
}
