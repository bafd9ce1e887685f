package celenv

import (
	"regexp"
	"regexp/syntax"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// limitMatch returns an error if a regular expression could take too long on a text. The time of a match is at most
// proportional to the program of the expression and to the length of the text.
func limitMatch(args ...ref.Val) ref.Val {
	t, _ := args[0].(types.String)
	p, _ := args[1].(types.String)
	if len(p) > maxPattern {
		return types.NewErr("a regular expression can have at most %d bytes", maxPattern)
	}
	const most = 1000 // a few characters, such as x{1000}, can become so many instructions
	if len(t) == 0 || len(p) <= maxMatch/most/len(t) {
		return nil
	}
	parsed, err := syntax.Parse(string(p), syntax.Perl)
	if err != nil {
		return nil // the call says so
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err == nil && len(t) > maxMatch/len(prog.Inst) {
		return types.NewErr("a text of %d bytes is too long for this regular expression", len(t))
	}
	return nil
}

// findAll implements text.findAll(pattern) and text.findAll(pattern, most), because the library does not bound the
// number of results.
func findAll(args ...ref.Val) ref.Val {
	text, isText := args[0].(types.String)
	pattern, isPattern := args[1].(types.String)
	most, isInt := types.Int(-1), true
	if len(args) == 3 {
		most, isInt = args[2].(types.Int)
	}
	if !isText || !isPattern || !isInt {
		return types.NoSuchOverloadErr()
	}
	re, err := regexp.Compile(string(pattern))
	if err != nil {
		return types.NewErr("Illegal regex: %v", err.Error())
	}
	if most < 0 || most > maxMade {
		most = maxMade + 1
	}
	found := re.FindAllString(string(text), int(most))
	if len(found) > maxMade {
		return types.NewErr("findAll would give a list of more than %d items", maxMade)
	}
	return types.NewStringList(Adapter{}, found)
}
