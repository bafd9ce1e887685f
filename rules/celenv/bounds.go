package celenv

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apiserver/pkg/cel/library"
)

// One call of a library function cannot be interrupted, so each is refused that
// would take more than some tens of milliseconds.
const (
	// maxPairs is how many values one call may compare with one another.
	maxPairs = 1_000_000
	// maxScalars is how many texts or ints a list may have that is taken as a set.
	maxScalars = 20_000
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
	if joinedLength(args) > maxText {
		return types.NewErr("join would give more than %d bytes", maxText)
	}
	return nil
}

// joinedLength is how long join(list, separator) is; more than maxText where it is
// longer than that.
func joinedLength(args []ref.Val) int64 {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0
	}
	separator := int64(0)
	if len(args) > 1 {
		separator = textLength(args[1])
	}
	total := -separator
	for it := list.Iterator(); it.HasNext() == types.True && total <= maxText; {
		total += textLength(it.Next()) + separator
	}
	return max(total, 0)
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
			if call.Function() != "findAll" {
				return o.Factory(call, pattern)
			}
			re, err := regexp.Compile(pattern)
			if err != nil {
				return nil, err
			}
			return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(),
				func(args ...ref.Val) ref.Val { return findAll(re, args...) }), nil
		}
		return &out
	}
	return interpreter.CompileRegexConstants(bounded(interpreter.MatchesRegexOptimization),
		bounded(library.FindRegexOptimization), bounded(library.FindAllRegexOptimization))
}

// findAll is text.findAll(pattern) and text.findAll(pattern, most): the library's own
// has no bound on what it finds. re is nil where the pattern has to be compiled.
func findAll(re *regexp.Regexp, args ...ref.Val) ref.Val {
	if len(args) < 2 || len(args) > 3 {
		return types.NoSuchOverloadErr()
	}
	text, isText := args[0].(types.String)
	pattern, isPattern := args[1].(types.String)
	if !isText || !isPattern {
		return types.NoSuchOverloadErr()
	}
	most := types.Int(-1)
	if len(args) == 3 {
		var ok bool
		if most, ok = args[2].(types.Int); !ok {
			return types.NoSuchOverloadErr()
		}
	}
	if re == nil {
		var err error
		if re, err = regexp.Compile(string(pattern)); err != nil {
			return types.NewErr("Illegal regex: %v", err.Error())
		}
	}
	if most < 0 || most > maxMade {
		most = maxMade + 1
	}
	found := re.FindAllString(string(text), int(most))
	if len(found) > maxMade {
		return types.NewErr("findAll would give a list of more than %d items", maxMade)
	}
	return types.NewStringList(adapter{}, found)
}

// mapBytes is about what a map takes that is read from text, without its entries.
const mapBytes = 300

// jsonBytes is the most that the values of a JSON text take.
func jsonBytes(text string) int64 {
	total, quoted := int64(len(text)), false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			total += mapBytes + valueBytes + itemBytes
		case c == '[' || c == ',' || c == ':':
			total += valueBytes + itemBytes
		}
	}
	return total
}

// shortYAML is an error where a YAML text has so many values that its nodes alone take
// too much: each has a place of its own.
func shortYAML(args ...ref.Val) ref.Val {
	text, _ := args[0].(types.String)
	const node = 256
	n := 0
	for i := range len(text) {
		switch text[i] {
		case '\n', ',', ':', '[', '{', '-', '?':
			n++
		}
	}
	if n > maxCall/node {
		return types.NewErr("fromYaml: more than %d values", maxCall/node)
	}
	return nil
}

// shortExponent is an error where a quantity has an exponent with which its digits are
// more than any number has: Kubernetes' parser would write them all.
func shortExponent(args ...ref.Val) ref.Val {
	const most = 3
	text, _ := args[0].(types.String)
	if exponentDigits(string(text)) > most {
		return types.NewErr("the exponent of a quantity can have at most %d digits", most)
	}
	return nil
}

func exponentDigits(text string) int {
	i := strings.LastIndexAny(text, "eE")
	if i < 0 {
		return 0
	}
	return len(strings.TrimLeft(text[i+1:], "+-0"))
}

// IsQuantity says whether a text is a quantity, as quantity(text) takes it.
func IsQuantity(text string) bool {
	if len(text) > maxNumber || shortExponent(types.String(text)) != nil {
		return false
	}
	_, err := resource.ParseQuantity(text)
	return err == nil
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

// shortSum is an error where a + b would give a text, bytes or a list that is too
// long. What a loop gathers is gathered in place.
func shortSum(args ...ref.Val) ref.Val {
	a, b := args[0], args[1]
	if n := textLength(a) + textLength(b); n > maxText {
		return types.NewErr("+ would give more than %d bytes", maxText)
	}
	if _, gathers := a.(traits.MutableLister); gathers {
		return nil
	}
	if length(a)+length(b) > maxMade {
		return types.NewErr("+ would give a list of more than %d items", maxMade)
	}
	return nil
}

// joined is a + b of two lists, which is not left to CEL: its own lists are views of
// views, of which the reading takes ever longer, and can have more items than any
// memory. nil of anything else.
func joined(a, b ref.Val) ref.Val {
	if _, gathers := a.(traits.MutableLister); gathers {
		return nil
	}
	l, ok := a.(traits.Lister)
	if !ok {
		return nil
	}
	r, ok := b.(traits.Lister)
	if !ok {
		return nil
	}
	items := make([]ref.Val, 0, length(l)+length(r))
	for _, list := range []traits.Lister{l, r} {
		for it := list.Iterator(); it.HasNext() == types.True; {
			items = append(items, it.Next())
		}
	}
	return types.NewRefValList(adapter{}, items)
}

// shortReplace is an error where replace could make a text that is too long.
func shortReplace(args ...ref.Val) ref.Val {
	if n := replacedLength(args); n > maxText && n > textLength(args[0]) {
		return types.NewErr("replace could give more than %d bytes", maxText)
	}
	return nil
}

// shortSplit is an error where split would give too many items.
func shortSplit(args ...ref.Val) ref.Val {
	if splitCount(args) > maxMade {
		return types.NewErr("split would give a list of more than %d items", maxMade)
	}
	return nil
}

// shortFormat is an error where format could make a text that is too long, or goes
// through too many values.
func shortFormat(args ...ref.Val) ref.Val {
	if len(args) < 2 {
		return nil
	}
	if _, err := Plain(args[1], maxText); errors.As(err, new(tooLongError)) {
		return types.NewErr("format: %v", err)
	}
	if digits := formatDigits(args[0]); digits > maxText {
		return types.NewErr("format: %v", tooLongError(maxText))
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
