package celenv

import (
	"errors"
	"regexp/syntax"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"
)

// One call of a library function cannot be interrupted, so each is refused that
// would take more than some tens of milliseconds.
const (
	// maxPairs is how many values one call may compare with one another.
	maxPairs = 1_000_000
	// maxScalars is how many texts or ints a list may have that is taken as a set.
	maxScalars = 20_000
	// maxCompared is how many values == may have on its two sides.
	maxCompared = 200_000
	// maxSorted is how many items one call may sort.
	maxSorted = 50_000
	// maxMade is how many items a list may have that + or a function makes.
	maxMade = 100_000
	// maxSearch is how many characters times characters a search may compare.
	maxSearch = 20_000_000
	// maxMatch is how many bytes of text times instructions of a regular expression
	// a match may take, and maxPattern how long an expression may be.
	maxMatch   = 4_000_000
	maxPattern = 10_000
	// maxNamed is how long a text may be that a named format looks at.
	maxNamed = 64 << 10
)

// withinBounds refuses calls of library functions that would take far longer
// than the meter, which looks at what comes out, can know beforehand.
func withinBounds(b *functions.Overload) *functions.Overload {
	check := boundOf(b.Operator)
	if check == nil {
		return b
	}
	bounded := *b
	if op := b.Unary; op != nil {
		bounded.Unary = func(val ref.Val) ref.Val {
			if err := check(val); err != nil {
				return err
			}
			return op(val)
		}
	}
	if op := b.Binary; op != nil {
		bounded.Binary = func(lhs, rhs ref.Val) ref.Val {
			if err := check(lhs, rhs); err != nil {
				return err
			}
			return op(lhs, rhs)
		}
	}
	if op := b.Function; op != nil {
		bounded.Function = func(args ...ref.Val) ref.Val {
			if err := check(args...); err != nil {
				return err
			}
			return op(args...)
		}
	}
	return &bounded
}

// boundOf is the check of a function's arguments, nil where there is none. The
// operator is the name of a function or of one of its overloads.
func boundOf(operator string) func(args ...ref.Val) ref.Val {
	switch operator {
	case "distinct", "list_distinct":
		return func(args ...ref.Val) ref.Val { return fewPairs("distinct", args[0], args[0]) }
	case "sets.contains", "list_sets_contains_list", "sets.equivalent", "list_sets_equivalent_list",
		"sets.intersects", "list_sets_intersects_list":
		return binaryBound(func(a, b ref.Val) ref.Val { return fewPairs("this set function", a, b) })
	case "sort", "list_sort", "@sortByAssociatedKeys":
		return fewSorted
	case "flatten", "list_flatten", "list_flatten_int":
		return fewToFlatten
	case "join", "list_join", "list_join_string":
		return shortJoin
	case "indexOf", "string_index_of_string", "string_index_of_string_int",
		"lastIndexOf", "string_last_index_of_string", "string_last_index_of_string_int":
		return shortSearch
	case "matches", "matches_string", "find", "string_find_string",
		"findAll", "string_find_all_string", "string_find_all_string_int":
		return binaryBound(shortMatch)
	case "validate", "format-validate":
		return binaryBound(func(_, text ref.Val) ref.Val {
			if s, ok := text.(types.String); ok && len(s) > maxNamed {
				return types.NewErr("validate takes at most %d bytes", maxNamed)
			}
			return nil
		})
	case "format", "string_format":
		return binaryBound(func(_, args ref.Val) ref.Val {
			p := &plainer{left: maxText, most: maxText}
			if _, err := p.value(args, 0); errors.As(err, new(tooLongError)) {
				return types.NewErr("format: %v", err)
			}
			return nil
		})
	}
	return nil
}

// binaryBound is a check of the first two arguments, where there are two.
func binaryBound(check func(a, b ref.Val) ref.Val) func(args ...ref.Val) ref.Val {
	return func(args ...ref.Val) ref.Val {
		if len(args) < 2 {
			return nil
		}
		return check(args[0], args[1])
	}
}

// fewPairs is an error where the comparison of all items of a list with all of
// another looks at too many values.
func fewPairs(name string, a, b ref.Val) ref.Val {
	n := max(length(a), 1)
	left := int(maxPairs / n)
	if !fewParts(b, &left) {
		return types.NewErr("%s would compare more than %d pairs of values", name, maxPairs)
	}
	return nil
}

func fewSorted(args ...ref.Val) ref.Val {
	if n := length(args[0]); n > maxSorted {
		return types.NewErr("a list of %d items cannot be sorted: %d are the most", n, maxSorted)
	}
	return nil
}

func fewToFlatten(args ...ref.Val) ref.Val {
	if left := maxMade; !fewParts(args[0], &left) {
		return types.NewErr("flatten takes lists of at most %d values in all", maxMade)
	}
	return nil
}

// shortJoin is an error where join(list, separator) would make a text that is too
// long.
func shortJoin(args ...ref.Val) ref.Val {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return nil
	}
	separator := 0
	if len(args) > 1 {
		s, _ := args[1].(types.String)
		separator = len(s)
	}
	total := 0
	for it := list.Iterator(); it.HasNext() == types.True; {
		s, _ := it.Next().(types.String)
		if total += len(s) + separator; total > maxText+separator {
			return types.NewErr("join would give more than %d bytes", maxText)
		}
	}
	return nil
}

// shortSearch is an error where cel-go's search for one text in another, which
// compares it at every place, takes too long.
func shortSearch(args ...ref.Val) ref.Val {
	if len(args) < 2 {
		return nil
	}
	text, _ := args[0].(types.String)
	wanted, _ := args[1].(types.String)
	if len(wanted) > 0 && len(text) > maxSearch/len(wanted) {
		return types.NewErr("a text of %d bytes is too long to look for one of %d in it", len(text), len(wanted))
	}
	return nil
}

// shortMatch is an error where a regular expression could take too long on a text.
func shortMatch(text, pattern ref.Val) ref.Val {
	p, _ := pattern.(types.String)
	t, _ := text.(types.String)
	if len(p) > maxPattern {
		return types.NewErr("a regular expression can have at most %d bytes", maxPattern)
	}
	const most = 1000 // instructions that a few characters, such as x{1000}, can make
	if len(t) == 0 || len(p) <= maxMatch/most/len(t) {
		return nil
	}
	if n := instructions(string(p)); n > 0 && len(t) > maxMatch/n {
		return tooLongToMatch(len(t))
	}
	return nil
}

func tooLongToMatch(length int) ref.Val {
	return types.NewErr("a text of %d bytes is too long for this regular expression", length)
}

// instructions is how large the program of a regular expression is: the time that
// a match takes is at most in proportion to it and to the text. 0 where it is none.
func instructions(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(prog.Inst)
}

// constantPatterns compiles the regular expressions that are written out and holds
// the texts that they look at to a length that goes with them.
func constantPatterns() interpreter.PlannerOption {
	bounded := func(o *interpreter.RegexOptimization) *interpreter.RegexOptimization {
		out := *o
		out.Factory = func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
			n := instructions(pattern)
			if args := call.Args(); n > 0 && len(args) > 0 {
				args = append([]interpreter.InterpretableV2{&shortText{InterpretableV2: args[0], most: maxMatch / n}}, args[1:]...)
				call = interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), args, nil)
			}
			return o.Factory(call, pattern)
		}
		return &out
	}
	return interpreter.CompileRegexConstants(bounded(interpreter.MatchesRegexOptimization),
		bounded(library.FindRegexOptimization), bounded(library.FindAllRegexOptimization))
}

// shortText is a text of a bounded length.
type shortText struct {
	interpreter.InterpretableV2
	most int
}

func (n *shortText) Eval(vars interpreter.Activation) ref.Val {
	return n.Exec(interpreter.AsFrame(vars))
}

func (n *shortText) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	val := n.InterpretableV2.Exec(frame)
	if s, ok := val.(types.String); ok && len(s) > n.most {
		return tooLongToMatch(len(s))
	}
	return val
}

// joined is a + b of two lists or two texts, where that is not left to CEL: its own
// lists are views of views, of which the reading takes ever longer, and can have
// more items than any memory.
func joined(a, b ref.Val) ref.Val {
	switch l := a.(type) {
	case types.String:
		if r, ok := b.(types.String); ok && len(l)+len(r) > maxText {
			return types.NewErr("+ would give more than %d bytes", maxText)
		}
	case traits.MutableLister: // what a loop gathers
	case traits.Lister:
		r, ok := b.(traits.Lister)
		if !ok {
			return nil
		}
		if length(l)+length(r) > maxMade {
			return types.NewErr("+ would give a list of more than %d items", maxMade)
		}
		items := make([]ref.Val, 0, length(l)+length(r))
		for _, list := range []traits.Lister{l, r} {
			for it := list.Iterator(); it.HasNext() == types.True; {
				items = append(items, it.Next())
			}
		}
		return types.NewRefValList(adapter{}, items)
	}
	return nil
}

func length(val ref.Val) int64 {
	list, ok := val.(traits.Lister)
	if !ok {
		return 0
	}
	size, _ := list.Size().(types.Int)
	return int64(size)
}
