package program

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/flow"
)

// Verdict says what follows from a value that could not be computed.
type Verdict uint8

const (
	// Waits means that what is read will exist later.
	Waits Verdict = iota + 1
	// Fails means that what is read will not exist unless somebody changes something.
	Fails
	// Skips means that what is read belongs to a child whose when is false.
	Skips
)

// Problem is why an expression or a template has no value now. It is immutable: the readers of a variable share it.
type Problem struct {
	Verdict Verdict
	// Path is the place in the rule, relative to where the value is used.
	Path string
	// Message stays the same as long as the cause does.
	Message string
	// Advice is what the author of the rule can do about it; may be empty.
	Advice string
	// KindMissing is true if a kind is missing: that of a child, of a patch, or of a lookup that it reads.
	KindMissing bool
}

// Failure is a problem that ends when somebody changes something.
func Failure(format string, args ...any) *Problem {
	return &Problem{Verdict: Fails, Message: fmt.Sprintf(format, args...)}
}

// Waiting is a problem that ends by itself.
func Waiting(format string, args ...any) *Problem {
	return &Problem{Verdict: Waits, Message: fmt.Sprintf(format, args...)}
}

// Error is the path and the text.
func (p *Problem) Error() string {
	if p.Path == "" {
		return p.Text()
	}
	return p.Path + ": " + p.Text()
}

// Text is the message followed by the advice.
func (p *Problem) Text() string {
	if p.Advice == "" {
		return p.Message
	}
	return p.Message + "; " + p.Advice
}

// Advising returns the problem with advice for the author of the rule.
func (p *Problem) Advising(format string, args ...any) *Problem {
	out := *p
	out.Advice = fmt.Sprintf(format, args...)
	return &out
}

// Is makes has() and ?. treat what belongs to a skipped child as absent.
func (p *Problem) Is(target error) bool {
	return p.Verdict == Skips && target == celenv.ErrAbsent
}

// Outweighs reports whether p replaces the first problem of several. A failure replaces a wait, because somebody has to
// act on it.
func (p *Problem) Outweighs(first *Problem) bool {
	return p != nil && (first == nil || first.Verdict == Waits && p.Verdict != Waits)
}

// Under adds a segment in front of the path. Indices start with [.
func (p *Problem) Under(segment string) *Problem {
	outer := *p
	switch {
	case p.Path == "":
		outer.Path = segment
	case p.Path[0] == '[' || segment == "":
		outer.Path = segment + p.Path
	default:
		outer.Path = segment + "." + p.Path
	}
	return &outer
}

// Of names the object, of several, that has the problem.
func (p *Problem) Of(object string) *Problem {
	out := *p
	out.Message = object + ": " + p.Message
	return &out
}

// In adds the variable, or the part of a lookup, in which the problem arose. It names at most three of them.
func (p *Problem) In(place string) *Problem {
	const most = 3
	if strings.Count(p.Message, " (in ") >= most {
		return p
	}
	out := *p
	out.Path, out.Message = "", p.Message+" (in "+place+")"
	return &out
}

// Flat moves the path of a problem into its message.
func (p *Problem) Flat() *Problem {
	if p.Path == "" {
		return p
	}
	flat := *p
	flat.Path, flat.Message = "", p.Path+": "+p.Message
	return &flat
}

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
	Program *celenv.Program
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
		if errors.Is(err, celenv.ErrInterrupted) {
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
