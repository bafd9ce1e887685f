package explain

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/yamltree"
)

// Complete lists completions for the word that ends at an offset of a line, sorted, and where the word starts. They are
// names, functions, fields of the value before the dot, or commands of the prompt.
func (s *Session) Complete(line string, offset int) (from int, words []string) {
	line = line[:offset]
	if strings.HasPrefix(line, ":") {
		return s.completeCommand(line)
	}
	from = wordStart(line)
	begin := line[from:]
	before := path(line[:from])
	switch {
	case before == "" && strings.HasSuffix(strings.TrimRight(line[:from], "?"), "."):
		return from, nil // the dot follows a computed value
	case before == "":
		words = append(s.Names(), functions(nil)...)
	case flow.IsGroup(before):
		words = s.compiler.Members(before, s.Child)
	case len(inNamespace(before)) > 0:
		words = inNamespace(before)
	default:
		words = s.below(before, begin != "")
	}
	return from, matching(words, begin)
}

// Names are the names that an expression can start with.
func (s *Session) Names() []string { return s.compiler.Names(s.Child) }

// matching lists the words with a prefix, sorted, each once.
func matching(words []string, begin string) []string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, begin) })
	slices.Sort(words)
	return slices.Compact(words)
}

// wordStart is the start of the name at the end of a line.
func wordStart(line string) int {
	from := len(line)
	for from > 0 && yamltree.IsNameByte(line[from-1]) {
		from--
	}
	return from
}

// pathBeforeDot matches a name with fields and indices, and the dot at the end of a line. Completion evaluates no calls.
var pathBeforeDot = regexp.MustCompile(`(?:^|[^\w.?)\]"'])([A-Za-z_]\w*(?:\[[^\]]*\]|\.\??\w+)*)\.\??$`)

// path is the path before the dot at the end of a line; empty if there is none.
func path(line string) string {
	if found := pathBeforeDot.FindStringSubmatch(line); found != nil {
		return found[1]
	}
	return ""
}

// below lists the fields of a value, and the functions that can be called on it. If the value has fields, functions are
// only listed if alsoFunctions is true.
func (s *Session) below(path string, alsoFunctions bool) []string {
	source, node := yamltree.NewText(name, path)
	asked, _ := s.compiler.Compile(source, node, true, s.Child)
	if asked == nil || s.NoParent {
		return nil
	}
	x, isExpression := asked.Template.(program.Expr)
	if !isExpression {
		return nil
	}
	s.ev.Revisit()
	val, p := x.X.Eval(s.scope)
	if p != nil {
		return nil
	}
	if optional, ok := val.(*types.Optional); ok && optional.HasValue() {
		val = optional.GetValue()
	}
	var words []string
	if fields, isMap := val.(traits.Mapper); isMap {
		for it := fields.Iterator(); it.HasNext() == types.True; {
			if key, isText := it.Next().(types.String); isText && yamltree.IsPathName(string(key)) && !strings.Contains(string(key), "-") {
				words = append(words, string(key))
			}
		}
	}
	if alsoFunctions || len(words) == 0 {
		words = append(words, functions(val)...)
	}
	return words
}

// functions lists the functions that can be called on a value, or without one if on is nil. Each ends with a
// parenthesis.
func functions(on ref.Val) []string {
	receiver := ""
	if on != nil {
		receiver = typeName(on)
	}
	var words []string
	for _, f := range Functions(receiver) {
		words = append(words, f.Name+"(")
	}
	return words
}

// inNamespace lists the functions whose names start with a word and a dot, such as math.abs.
func inNamespace(word string) []string {
	var words []string
	for _, name := range append(functions(nil), "cel.bind(") {
		if rest, ok := strings.CutPrefix(name, word+"."); ok {
			words = append(words, rest)
		}
	}
	return words
}

// commands are the commands of the prompt.
func commands() []string { return []string{":help", ":quit"} }

// completeCommand completes a command, or the argument of :help.
func (s *Session) completeCommand(line string) (from int, words []string) {
	if rest, ok := strings.CutPrefix(line, ":help "); ok {
		env, err := celenv.Shared()
		if err != nil {
			return len(line), nil
		}
		return len(":help "), matching(env.FunctionNames(), rest)
	}
	return 0, matching(commands(), line)
}
