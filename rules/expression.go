package rules

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/celenv/value"
	"kanon.dev/kanon/rules/flow"
)

// verdict says what follows from a value that could not be computed.
type verdict uint8

const (
	// waits: what is read will be there later.
	waits verdict = iota + 1
	// fails: what is read will not be there unless someone changes something.
	fails
	// skips: what is read belongs to a child whose when is false.
	skips
)

// problem is why an expression or a template has no value now. It is never
// changed: many readers of one variable share it.
type problem struct {
	verdict verdict
	// path is the place in the rule, relative to where the value is used.
	path    string
	message string
	// advice is what the author of the rule can do about it; empty: that is plain, or nothing.
	advice string
	// missing is true where the cause is a kind that is missing.
	missing bool
}

// Error gives the path and the message.
func (p *problem) Error() string {
	if p.path == "" {
		return p.text()
	}
	return p.path + ": " + p.text()
}

// text is the message with the advice.
func (p *problem) text() string { return withAdvice(p.message, p.advice) }

// withAdvice is a message, and what the author of the rule can do about it.
func withAdvice(message, advice string) string {
	if advice == "" {
		return message
	}
	return message + "; " + advice
}

// advising is the problem with advice for the author of the rule.
func (p *problem) advising(format string, args ...any) *problem {
	p.advice = fmt.Sprintf(format, args...)
	return p
}

// Is lets has() and ?. take what belongs to a skipped child for absent.
func (p *problem) Is(target error) bool {
	return p.verdict == skips && target == run.ErrAbsent
}

// under is the problem seen from one level further out. Indices start with [.
func (p *problem) under(segment string) *problem {
	outer := *p
	switch {
	case p.path == "":
		outer.path = segment
	case p.path[0] == '[' || segment == "":
		outer.path = segment + p.path
	default:
		outer.path = segment + "." + p.path
	}
	return &outer
}

func failure(format string, args ...any) *problem {
	return &problem{verdict: fails, message: fmt.Sprintf(format, args...)}
}

func waiting(format string, args ...any) *problem {
	return &problem{verdict: waits, message: fmt.Sprintf(format, args...)}
}

// expression is a compiled expression with what is known of its reads.
type expression struct {
	prog *run.Program
	text string
	// reads are sorted by node.
	reads []flow.Read
	// constant is what an expression gives that reads nothing; nil for every other.
	constant *constant
	// into is the schema of the field that takes the value; nil where it is not known, or
	// where the type of the value has shown that it fits.
	into *openapi.Schema
}

// eval computes the expression's value.
func (x *expression) eval(s *scope) (ref.Val, *problem) {
	val, err := x.prog.EvalWithin(s.ev.ctx, s, &s.ev.budget)
	if err == nil {
		return val, nil
	}
	if p := s.ev.prog.limits.exceeded(err, x.text); p != nil {
		s.ev.late = s.ev.late || errors.Is(err, run.ErrDeadline)
		s.ev.starved = s.ev.starved || errors.Is(err, run.ErrSharedMemory)
		return nil, p
	}
	return nil, x.explain(s.ev, err)
}

// explain decides by where the expression reads whether to wait.
func (x *expression) explain(e *Evaluation, err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return &problem{verdict: p.verdict, message: p.message, advice: p.advice, missing: p.missing}
	}
	var missed *value.ReadError
	if !errors.As(err, &missed) {
		if errors.Is(err, run.ErrInterrupted) {
			return failure("the evaluation was ended before it was done: %s", shorten(x.text))
		}
		return failure("%s: %s", shorten(x.text), e.reason(err))
	}
	r := x.readAt(missed.NodeID)
	switch {
	case missed.Reason == value.ReasonType && e.prog.secrets: // the key may be computed
		return failure("%s: it cannot be read from a value of type %s", r.Text, missed.Found)
	case missed.Reason == value.ReasonType:
		return failure("%s: %s", r.Text, missed.Error())
	case missed.Reason == value.ReasonFormat:
		return failure("%s is %s", r.Text, missed.Found)
	case r.Waits:
		return waiting("%s has no value yet", r.Text)
	case missed.Reason == value.ReasonIndex && e.prog.secrets:
		return failure("%s does not exist: the list has %d items", r.Text, missed.Length).advising("read it with [?…] or test size() first")
	case missed.Reason == value.ReasonIndex:
		return failure("%s does not exist: the list has %d items", r.Text, missed.Length).
			advising("read it with [?%s] or test size() first", missed.Key)
	}
	return failure("%s is missing", r.Text).advising("read it with ?. and give a default with orValue(…), or test it with has(…)")
}

// readAt finds a read; one that was not foreseen has failed.
func (x *expression) readAt(node int64) flow.Read {
	i, ok := slices.BinarySearchFunc(x.reads, node, func(r flow.Read, id int64) int { return int(r.Node - id) })
	if !ok {
		return flow.Read{Node: node, Text: shorten(x.text)}
	}
	return x.reads[i]
}

// cleanError is the text of an error of CEL's own.
func cleanError(err error) string {
	if celErr, ok := errors.AsType[*types.Err](err); ok {
		return celErr.Unwrap().Error()
	}
	return err.Error()
}

// shorten keeps a message readable when an expression is long.
func shorten(text string) string {
	const limit = 80
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit]) + "…"
}
