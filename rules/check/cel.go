package check

import (
	"cmp"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

// syntaxHint says what to write for the token at which the parser stopped. meant replaces the operator of another
// language; it is empty if there is none.
func syntaxHint(before, token string) (hint, meant string) {
	switch token {
	case "and", "&":
		return "write && for and", "&&"
	case "or":
		return "write || for or", "||"
	case "not":
		return "write ! for not", "!"
	case "=":
		return "write == to compare", "=="
	case "|":
		return "write || for or; there are no pipes, a function is called as f(x) or x.f()", ""
	case "?":
		return defaultHint, ""
	case "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "namespace", "package", "return",
		"var", "void", "while":
		return "give it another name; a field of an object is read in backquotes after a dot, as in parent.spec.`" + token + "`", ""
	}
	switch isString := strings.Trim(token[:1], `"'`) == ""; {
	case isString && strings.Contains(token, "\n"):
		return "a line ends in the string: write \\n there, and \\\\n where YAML has double quotes around the value", ""
	case isString && (len(token) == 1 || strings.Contains(token, `\`)):
		return "close the string, and write two backslashes for one", ""
	}
	bracket := strings.LastIndexAny(before, "()")
	switch function := before[max(celenv.TokenStart(before, bracket), 0):max(bracket, 0)]; {
	case function == "has":
		return `write has(parent.spec.x), and ask for a key in brackets as in "a/b" in parent.metadata.?labels.orValue({})`, ""
	case flow.IsMacro(function):
		return macroHint(function), ""
	}
	return "", ""
}

// macroHint says how to call a macro of a list.
func macroHint(name string) string {
	return "write list." + name + "(x, …), with a name for the items"
}

// defaultHint is for authors who look for a default.
const defaultHint = "for a default write .? before the field and orValue(…) behind it, as in parent.spec.?x.orValue(1)"

// reportSyntax reports the first issue of CEL's parser. Later ones are mostly consequences of the first.
func reportSyntax(text string, issues []celenv.Issue, report flow.Report) {
	first := slices.MinFunc(issues, func(a, b celenv.Issue) int { return cmp.Compare(a.Offset, b.Offset) })
	message := strings.TrimPrefix(strings.Join(strings.Fields(first.Message), " "), "Syntax error: ")
	message, expected, _ := strings.Cut(message, " expecting ")
	f := report(first.Offset, diagnostic.CodeSyntax, "%s", message)
	if strings.HasPrefix(expected, "'") { // one token and no other
		f.Hint = "write " + strings.Trim(expected, "'") + " there"
	}
	if first.Offset < 0 {
		return
	}
	token := text[first.Offset:][:celenv.TokenLength(text, first.Offset)]
	if token == "" {
		f.Message = "the expression ends too early"
		return
	}
	if hint, meant := syntaxHint(text[:first.Offset], token); hint != "" {
		if f.Hint = hint; meant != "" {
			f.WithEdit(f.Position, token, meant)
		}
	}
}

// ReportIssues reports what CEL's checker refuses, for an expression in which Check found no error.
func ReportIssues(x *celenv.Expression, report flow.Report) {
	for _, i := range x.Issues() {
		report(i.Offset, diagnostic.CodeTypes, "%s", i.Message)
	}
}

// Parser parses the expressions of a rule and runs CEL's checker on them, once for each text and scope. Rules repeat
// expressions, and this is most of the work of compiling a rule.
type Parser struct {
	env         *celenv.Env
	expressions map[parsedText]*celenv.Expression
	// checkers has the checkers of scopes, by the names in scope.
	checkers map[string]*celenv.Checker
	// bytes is the total length of the texts. tooMuch is true once it exceeded maxParsed.
	bytes   int
	tooMuch bool
}

// parsedText is an expression and the names that it may start with.
type parsedText struct{ text, roots string }

// maxParsed is how many bytes the expressions of a rule may have in total, each text counted once.
const maxParsed = 256 << 10

// NewParser returns a parser for the expressions of one rule.
func NewParser(env *celenv.Env) *Parser {
	return &Parser{env: env, expressions: map[parsedText]*celenv.Expression{}, checkers: map[string]*celenv.Checker{}}
}

// Parse returns the checked expression, perhaps with Issues of CEL's checker. It is nil, after a finding, if the parser
// refuses it or a function is unknown. If it has unknown names, Parse reports them and complete is false.
func (p *Parser) Parse(text string, scope flow.Scope, names flow.Names, report flow.Report) (expr *celenv.Expression, complete bool) {
	key := parsedText{text: text, roots: strings.Join(scope.Roots, ",")}
	if expr := p.expressions[key]; expr != nil {
		return expr, true
	}
	if p.bytes += len(text); p.bytes > maxParsed {
		if !p.tooMuch {
			report(0, diagnostic.CodeTooManyValues, "the expressions of the rule have more than %s bytes; this one and those behind it are not checked", diagnostic.Number(maxParsed))
		}
		p.tooMuch = true
		return nil, false
	}
	parsed, issues := p.env.Parse(text)
	if len(issues) > 0 {
		reportSyntax(text, issues, report)
		return nil, false
	}
	unknown, unknownFunctions := flow.Unknown(parsed, scope, names, report)
	if unknownFunctions {
		return nil, false
	}
	expr = p.checker(slices.Concat(scope.Roots, unknown)).Check(parsed)
	if len(expr.Issues()) == 0 && len(unknown) == 0 {
		p.expressions[key] = expr
	}
	return expr, len(unknown) == 0
}

// checker returns the checker of a scope. A rule has few different scopes.
func (p *Parser) checker(roots []string) *celenv.Checker {
	key := strings.Join(roots, ",")
	if p.checkers[key] == nil {
		p.checkers[key] = p.env.Checker(roots)
	}
	return p.checkers[key]
}
