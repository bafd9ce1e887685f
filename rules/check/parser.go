package check

import (
	"cmp"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

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

// Parse returns the checked expression. If CEL refuses it, Parse reports that and returns nil. If it has unknown names,
// Parse reports them and complete is false.
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
		// Later issues are mostly consequences of the first.
		first := slices.MinFunc(issues, func(a, b celenv.Issue) int { return cmp.Compare(a.Offset, b.Offset) })
		message, hint := syntaxText(first.Message)
		f := report(first.Offset, diagnostic.CodeSyntax, "%s", message)
		if f.Hint = hint; first.Offset >= 0 && first.Offset <= len(text) {
			addOperator(f, text[first.Offset:], hint)
			if message == stringNotClosed && strings.Contains(text[first.Offset:], "\n") {
				f.Hint = "a line ends in it: write \\n there, and \\\\n where YAML has double quotes around the value"
			}
		}
		return nil, false
	}
	unknown, unknownFunctions := flow.Unknown(p.env, parsed, text, scope, names, report)
	if unknownFunctions {
		return nil, false
	}
	expr, issues = p.checker(slices.Concat(scope.Roots, unknown)).Check(parsed)
	for _, i := range issues {
		message, hint := typesText(i.Message)
		name, _, _ := noOverload(strings.Join(strings.Fields(i.Message), " "))
		report(flow.NameOffset(text, i.Offset, name), diagnostic.CodeTypes, "%s", message).Hint = cmp.Or(hint, p.env.Usage(name))
	}
	if len(issues) == 0 && len(unknown) == 0 {
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
