package check

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Reporter collects the findings in one source. It is not safe for concurrent use.
type Reporter struct {
	source *yamltree.Source
	list   diagnostic.List
	// wrongAt has the positions of the findings, except those about missing fields.
	wrongAt map[diagnostic.Position]bool
	// places has the positions that Within returned.
	places map[diagnostic.Position]spot
}

// NewReporter returns a reporter without findings.
func NewReporter(source *yamltree.Source) *Reporter {
	return &Reporter{source: source, wrongAt: map[diagnostic.Position]bool{}, places: map[diagnostic.Position]spot{}}
}

// Findings returns the findings, sorted.
func (r *Reporter) Findings() diagnostic.Findings { return r.list.Findings(sourceOf{r.source, r}) }

// Report reports a finding at a position.
func (r *Reporter) Report(pos diagnostic.Position, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	switch code {
	case diagnostic.CodeIncomplete, diagnostic.CodeFieldMissing, diagnostic.CodeNamespaceRequired:
		// Their position is that of the mapping, where its first field begins too.
	default:
		r.wrongAt[pos] = true
	}
	return r.list.Report(pos, code, format, args...)
}

// ReportNode reports a finding about a node. A finding about a mapping or a list does not underline its first word.
func (r *Reporter) ReportNode(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return r.Report(r.source.At(n), code, format, args...).About(n.Kind == yamltree.Scalar)
}

// ReportAt reports a finding at an offset of a scalar.
func (r *Reporter) ReportAt(n *yamltree.Node, offset int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return r.Report(r.source.Within(n, offset), code, format, args...)
}

// ReportSpan is ReportAt for a finding about so many bytes of the value.
func (r *Reporter) ReportSpan(n *yamltree.Node, offset, length int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	f := r.ReportAt(n, offset, code, format, args...)
	f.Length = r.source.Span(n, offset, length)
	return f
}

// ReportAround is ReportNode for a finding about the text around the expressions of a scalar. It underlines the first
// text for which is returns true.
func (r *Reporter) ReportAround(n *yamltree.Node, is func(text string) bool, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	text, _ := n.Text()
	parts, err := yamltree.Scan(text)
	i := slices.IndexFunc(parts, func(p yamltree.Part) bool { return !p.Expr && is(p.Text) })
	if err != nil || i < 0 || len(parts) == 1 {
		return r.ReportNode(n, code, format, args...)
	}
	shown := strings.TrimLeft(parts[i].Text, " ")
	return r.ReportSpan(n, parts[i].Offset+len(parts[i].Text)-len(shown), len(strings.TrimRight(shown, " ")), code, format, args...)
}

// ReportScan reports the error of yamltree.Scan for a scalar.
func (r *Reporter) ReportScan(n *yamltree.Node, err error) *diagnostic.Finding {
	scanErr, ok := errors.AsType[*yamltree.ScanError](err)
	if !ok {
		return r.ReportNode(n, diagnostic.CodeNotClosed, "%s", err.Error())
	}
	f := r.ReportAt(n, scanErr.Offset, scanErr.Code, "%s", scanErr.Message)
	if f.Hint = scanErr.Hint; n.HasComment() {
		f.Hint = "what follows a blank and # is a comment in YAML: put quotes around the value"
	}
	return f
}

// Relate adds a part of the rule to a finding as a related place. It ignores nil, and the place of the
// finding itself: a YAML alias is where its anchor is.
func (r *Reporter) Relate(f *diagnostic.Finding, n *yamltree.Node, label string) *diagnostic.Finding {
	if n != nil && r.source.At(n) != f.Position {
		f.WithRelated(r.source.At(n), "%s", label)
	}
	return f
}

// Withdraw removes a finding.
func (r *Reporter) Withdraw(f *diagnostic.Finding) {
	r.list = slices.DeleteFunc(r.list, func(o *diagnostic.Finding) bool { return o == f })
}

// At returns the position of a node.
func (r *Reporter) At(n *yamltree.Node) diagnostic.Position { return r.source.At(n) }

// IsWrong reports whether a mistake was reported at a position.
func (r *Reporter) IsWrong(pos diagnostic.Position) bool { return r.wrongAt[pos] }

// Count returns the number of findings.
func (r *Reporter) Count() int { return len(r.list) }

// ErrorsSince reports whether there are errors among the findings after the first before ones.
func (r *Reporter) ErrorsSince(before int) bool {
	return slices.ContainsFunc(r.list[before:], func(f *diagnostic.Finding) bool { return f.Severity == diagnostic.SeverityError })
}

// spot is an offset in an expression of a scalar.
type spot struct {
	node   *yamltree.Node
	part   yamltree.Part
	offset int
	// length is the length of a finding there, in bytes; 0 means that of the token.
	length int
}

// Within returns the position of an offset in an expression. Findings at that position span the token there.
func (r *Reporter) Within(n *yamltree.Node, p yamltree.Part, offset int) diagnostic.Position {
	offset = celenv.TokenStart(p.Text, offset)
	pos := r.source.Within(n, valueOffset(n, p.Offset+offset))
	if pos.Line > 0 {
		r.places[pos] = spot{node: n, part: p, offset: offset}
	}
	return pos
}

// PlaceOf is Within for a part of an expression with so many bytes; 0 means the token. The checks of templates use it.
func (r *Reporter) PlaceOf(n *yamltree.Node, p yamltree.Part, offset, length int) diagnostic.Position {
	pos := r.Within(n, p, offset)
	if at, ok := r.places[pos]; ok {
		at.length = length
		r.places[pos] = at
	}
	return pos
}

// SpanOfAll returns the number of characters from a position to the end of its expression.
func (r *Reporter) SpanOfAll(at diagnostic.Position) int {
	p, ok := r.places[at]
	if !ok {
		return 0
	}
	return r.source.Span(p.node, valueOffset(p.node, p.part.Offset+p.offset), len(strings.TrimRight(p.part.Text, " \n"))-p.offset)
}

// KeyAt returns the position of the key at a path of a template, or of the longest prefix of the path that exists.
func (r *Reporter) KeyAt(n *yamltree.Node, path []string) diagnostic.Position {
	var pos diagnostic.Position
	for _, name := range path {
		if n == nil {
			break
		}
		key, value := n.Step(name)
		if key == nil {
			break
		}
		pos, n = r.source.At(key), value
	}
	return pos
}

// FieldAt returns the position of the value of a mapping's field, or of the mapping if it lacks the field.
func (r *Reporter) FieldAt(n *yamltree.Node, name string) diagnostic.Position {
	if value := n.Get(name); value != nil {
		n = value
	}
	return r.source.At(n)
}

// sourceOf is the source of findings: the rule's source, with the spans of expressions.
type sourceOf struct {
	*yamltree.Source
	r *Reporter
}

// SpanAt implements diagnostic.Source.
func (s sourceOf) SpanAt(at diagnostic.Position) int {
	p, ok := s.r.places[at]
	if !ok {
		return s.Source.SpanAt(at)
	}
	length := p.length
	if length == 0 {
		length = celenv.TokenLength(p.part.Text, p.offset)
	}
	return s.Span(p.node, valueOffset(p.node, p.part.Offset+p.offset), length)
}

// valueOffset bounds an offset in a node's text by the length of its YAML value.
func valueOffset(n *yamltree.Node, offset int) int { return min(offset, len(n.Raw())) }

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
	}
	if syntax.IsCELWord(token) {
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
	if expansion.MatchString(text) {
		report(0, diagnostic.CodeSyntax, "${%s} is no expression; a shell has such ones", text).
			WithHint("to write ${%[1]s} as text, write $${%[1]s}", text)
		return
	}
	first := slices.MinFunc(issues, func(a, b celenv.Issue) int { return cmp.Compare(a.Offset, b.Offset) })
	if r, _ := utf8.DecodeRuneInString(text[max(first.Offset, 0):]); first.Offset >= 0 && r != utf8.RuneError {
		if what, hint := foreignCharacter(r); what != "" {
			report(first.Offset, diagnostic.CodeSyntax, "%U is %s", r, what).Hint = hint
			return
		}
	}
	if hint := foreignSyntax(text); hint != "" {
		report(first.Offset, diagnostic.CodeSyntax, "this is not CEL").Hint = hint
		return
	}
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
