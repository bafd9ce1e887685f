package program

import (
	"errors"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/flow"
)

// Scope is where expressions are evaluated.
type Scope interface {
	// Activation resolves the names.
	interpreter.Activation
	// Session is shared by all expressions of the evaluation.
	Session() *Session
	// ReadOnly is true if what is rendered is only read, as the value of a variable. It may then share memory with its
	// inputs.
	ReadOnly() bool
}

// Expression is a compiled expression with what is known of its reads.
type Expression struct {
	Program *run.Program
	Text    string
	// Reads are sorted by node.
	Reads []flow.Read
	// Into is the schema of the field that takes the value; nil if it is unknown, or if the type of the expression
	// shows that it fits.
	Into *openapi.Schema
	// noted is called with the result of a condition; may be nil.
	noted func(holds bool)
}

// Note sets a function that is called with each result of the expression as a condition.
func (x *Expression) Note(f func(holds bool)) { x.noted = f }

// Eval computes the value.
func (x *Expression) Eval(s Scope) (ref.Val, *Problem) {
	session := s.Session()
	val, err := x.Program.EvalWithin(session.ctx, s, &session.Budget)
	if err == nil {
		return val, nil
	}
	if p := session.exceeded(err); p != nil {
		return nil, p.Of(Shorten(x.Text))
	}
	return nil, x.explain(session, err)
}

// IsTrue evaluates a condition.
func (x *Expression) IsTrue(s Scope) (bool, *Problem) {
	val, p := x.Eval(s)
	if p != nil {
		return false, p
	}
	b, ok := val.Value().(bool)
	if !ok {
		return false, Failure("%s: must be true or false, and is %s", Shorten(x.Text), celenv.TypeText(val))
	}
	if x.noted != nil {
		x.noted(b)
	}
	return b, nil
}

// Holds is IsTrue for an optional condition: nil is true. A problem is below place.
func (x *Expression) Holds(s Scope, place string) (bool, *Problem) {
	if x == nil {
		return true, nil
	}
	holds, p := x.IsTrue(s)
	if p != nil {
		return false, p.Under(place)
	}
	return holds, nil
}

// explain turns an error into a problem, which waits or fails by the origin of the read.
func (x *Expression) explain(session *Session, err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		inner := *p
		inner.Path = ""
		return &inner
	}
	var missed *celenv.ReadError
	if !errors.As(err, &missed) {
		if errors.Is(err, run.ErrInterrupted) {
			return Failure("the evaluation was ended before it was done: %s", Shorten(x.Text))
		}
		return Failure("%s: %s", Shorten(x.Text), session.Reason(err))
	}
	r := x.readAt(missed.NodeID)
	switch {
	case missed.Reason == celenv.ReasonType && session.secrets: // the key may be computed
		return Failure("%s: it cannot be read from a value of type %s", r.Text, missed.Found)
	case missed.Reason == celenv.ReasonType:
		return Failure("%s: %s", r.Text, missed.Error())
	case missed.Reason == celenv.ReasonFormat && missed.Text != "" && !session.secrets:
		return Failure("%s is %s, and that is %s", r.Text, session.Shown(missed.Text), missed.Found)
	case missed.Reason == celenv.ReasonFormat:
		return Failure("%s is %s", r.Text, missed.Found)
	case r.Waits:
		return Waiting("%s has no value yet", r.Text)
	case missed.Reason == celenv.ReasonIndex:
		key := missed.Key
		if session.secrets {
			key = "…"
		}
		return Failure("%s does not exist: the list has %d items", r.Text, missed.Length).
			Advising("read it with [?%s] or test size() first", key)
	}
	return Failure("%s is missing", r.Text).Advising("read it with ?. and give a default with orValue(…), or test it with has(…)")
}

func (x *Expression) readAt(node int64) flow.Read {
	i, ok := slices.BinarySearchFunc(x.Reads, node, func(r flow.Read, id int64) int { return int(r.Node - id) })
	if !ok {
		return flow.Read{Node: node, Text: Shorten(x.Text)}
	}
	return x.Reads[i]
}

// ErrorText is the text of a CEL error.
func ErrorText(err error) string {
	if celErr, ok := errors.AsType[*types.Err](err); ok {
		return celErr.Unwrap().Error()
	}
	return err.Error()
}

// Shorten cuts the text of a long expression for messages.
func Shorten(text string) string {
	const limit = 80
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit]) + "…"
}
