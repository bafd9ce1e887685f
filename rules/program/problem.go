package program

import (
	"fmt"
	"strings"

	"kanon.dev/kanon/rules/celenv/run"
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
	return p.Verdict == Skips && target == run.ErrAbsent
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
