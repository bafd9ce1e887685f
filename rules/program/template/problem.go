package template

import (
	"fmt"
	"strings"

	"kanon.dev/kanon/rules/celenv/run"
)

// Verdict is what follows from a value that could not be computed.
type Verdict uint8

const (
	// Waits means that what is read will exist later.
	Waits Verdict = iota + 1
	// Fails means that what is read will not exist unless somebody changes something.
	Fails
	// Skips means that what is read belongs to a child whose when is false.
	Skips
)

// Problem is why an expression or a template has no value now. It is never changed: the
// readers of a variable share it.
type Problem struct {
	Verdict Verdict
	// Path is the place in the rule, relative to where the value is used.
	Path    string
	Message string
	// Advice is what the author of the rule can do about it; may be empty.
	Advice string
	// KindMissing is true where the cause is a kind that is missing.
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

// Error gives the path and the message.
func (p *Problem) Error() string {
	if p.Path == "" {
		return p.Text()
	}
	return p.Path + ": " + p.Text()
}

// Text is the message with the advice.
func (p *Problem) Text() string { return WithAdvice(p.Message, p.Advice) }

// WithAdvice is a message, and what the author of the rule can do about it.
func WithAdvice(message, advice string) string {
	if advice == "" {
		return message
	}
	return message + "; " + advice
}

// Advising is the problem with advice for the author of the rule.
func (p *Problem) Advising(format string, args ...any) *Problem {
	out := *p
	out.Advice = fmt.Sprintf(format, args...)
	return &out
}

// Is lets has() and ?. take what belongs to a skipped child for absent.
func (p *Problem) Is(target error) bool {
	return p.Verdict == Skips && target == run.ErrAbsent
}

// Outweighs reports whether p is to be shown instead of the first problem of several: a
// failure needs somebody to do something.
func (p *Problem) Outweighs(first *Problem) bool {
	return p != nil && (first == nil || first.Verdict == Waits && p.Verdict != Waits)
}

// Under is the problem seen from one level further out. Indices start with [.
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

// Of is the problem of one of several objects.
func (p *Problem) Of(object string) *Problem {
	out := *p
	out.Message = object + ": " + p.Message
	return &out
}

// In names the variable, or the part of a lookup, in which a problem arose. Of a long way to
// it the beginning is enough.
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
