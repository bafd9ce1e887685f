package function

import (
	"regexp"
	"regexp/syntax"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"

	"kanon.dev/kanon/rules/celenv/value"
)

// limitMatch returns an error if a regular expression could take too long on a text.
func limitMatch(text, pattern ref.Val) ref.Val {
	p, _ := pattern.(types.String)
	t, _ := text.(types.String)
	if len(p) > maxPattern {
		return types.NewErr("a regular expression can have at most %d bytes", maxPattern)
	}
	const most = 1000 // a few characters, such as x{1000}, can become so many instructions
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

// instructions returns the size of the program of a regular expression; 0 if the pattern is invalid. The time of a
// match is at most proportional to this size and to the length of the text.
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

// ConstantPatterns compiles constant regular expressions, and bounds the length of the texts that they are matched
// with.
func ConstantPatterns() interpreter.PlannerOption {
	bounded := func(o *interpreter.RegexOptimization) *interpreter.RegexOptimization {
		out := *o
		out.Factory = func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
			n := instructions(pattern)
			if args := call.Args(); n > 0 && len(args) > 0 {
				args = append([]interpreter.InterpretableV2{&limitedText{InterpretableV2: args[0], most: maxMatch / n}}, args[1:]...)
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

// findAll implements text.findAll(pattern) and text.findAll(pattern, most), because the library does not bound the
// number of results. re is nil if the pattern is not compiled yet.
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
	return types.NewStringList(value.Adapter{}, found)
}

// limitedText bounds the length of a text.
type limitedText struct {
	interpreter.InterpretableV2
	most int
}

func (n *limitedText) Eval(vars interpreter.Activation) ref.Val {
	return n.Exec(interpreter.AsFrame(vars))
}

func (n *limitedText) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	val := n.InterpretableV2.Exec(frame)
	if s, ok := val.(types.String); ok && len(s) > n.most {
		return tooLongToMatch(len(s))
	}
	return val
}
