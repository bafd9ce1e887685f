package rules

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// compileScope is what the expressions of one part of a rule may use.
type compileScope struct {
	flow.Scope
	// names are the origins of the forEach names and of self.
	names map[string]*origin
	// locals are the variables of the child.
	locals map[string]*variable
	// asked are the paths that exist because the node's when requires them.
	asked map[string]bool
	// off is true if the when of the part is constant and false: nothing of it is evaluated.
	off bool
}

func (s *compileScope) in(part string) *compileScope {
	inner := *s
	inner.Place += part
	return &inner
}

func (s *compileScope) flow() flow.Scope {
	known := s.Scope
	known.Roots = s.roots()
	return known
}

func (s *compileScope) roots() []string {
	roots := []string{flow.RootParent, flow.RootVariables, flow.RootNow, flow.RootLookups, flow.RootFinalizing}
	if s.AllowChildren {
		roots = append(roots, flow.RootChildren, flow.RootObserved)
	}
	if len(s.Family) > 0 {
		roots = append(roots, flow.RootEach)
	}
	roots = slices.AppendSeq(roots, maps.Keys(s.names))
	slices.Sort(roots)
	return roots
}

// template compiles a part of the rule, and adds what it reads to u. It is nil after a finding.
func (c *compiler) template(n *yamltree.Node, sc *compileScope, u *flow.Uses) (program.Template, *origin) {
	switch n.Kind {
	case yamltree.Mapping:
		return c.mapping(n, sc, u)
	case yamltree.Sequence:
		return c.sequence(n, sc, u)
	}
	s, ok := n.Text()
	if !ok || !yamltree.HasExpression(s) {
		if ok {
			c.checkPlainText(n, s)
		}
		return program.Const{Value: n.Value}, &origin{typ: check.ScalarType(n.Value)}
	}
	parts, err := yamltree.Scan(s)
	if err != nil {
		c.ReportScan(n, err)
		return nil, nil
	}
	if whole, ok := yamltree.Whole(parts); ok {
		if whole.Spread {
			f := c.ReportSpan(n, whole.Offset, len(whole.Text), diagnostic.CodeStraySpread, "${...list} can only be an item of a list")
			f.WithHint("without the dots, ${list} is the list as a whole")
			f.WithEdit(c.rule.Source.Within(n, strings.Index(s, "...")), "...", "")
			return nil, nil
		}
		before := c.Count()
		x, o := c.expression(n, whole, sc, u)
		if x == nil {
			return nil, nil
		}
		c.keep(n, result{x: x, part: whole, items: x.items, wrong: c.ErrorsSince(before)})
		return program.Expr{X: x.run}, o
	}
	t, from := c.textTemplate(n, parts, sc, u)
	switch {
	case t == nil:
		return nil, nil
	case len(t.Parts) == 1 && t.Parts[0].X == nil:
		return program.Const{Value: t.Parts[0].Text}, &origin{typ: check.ScalarType(t.Parts[0].Text)}
	}
	return *t, from
}

func (c *compiler) keep(n *yamltree.Node, r result) {
	if c.results == nil {
		return
	}
	if old := c.results[n]; old.x != nil {
		r.others = append(old.others, old.x)
	}
	c.results[n] = r
}

// textTemplate compiles text around expressions. Of the origins of its values only the clock matters: text is either
// complete or missing.
func (c *compiler) textTemplate(n *yamltree.Node, parts []yamltree.Part, sc *compileScope, u *flow.Uses) (*program.Text, *origin) {
	t, out := &program.Text{}, &origin{typ: check.Of(types.StringType)}
	ok, kept := true, result{}
	for _, p := range parts {
		if !p.Expr {
			t.Parts = append(t.Parts, program.Part{Text: p.Text})
			continue
		}
		if p.Spread {
			c.ReportSpan(n, p.Offset, len(p.Text), diagnostic.CodeStraySpread, "${...list} can only be an item of a list").WithHint("without the dots, ${list} is the list as a whole")
			ok = false
			continue
		}
		x, from := c.expression(n, p, sc, u)
		if x == nil {
			ok = false
			continue
		}
		out.Drifts = out.Drifts || from.Moves()
		if wrong, hint := x.TextHint(); wrong != "" {
			f := c.ReportSpan(n, p.Offset, len(p.Text), diagnostic.CodeNotText, "%s cannot be part of text", wrong)
			if f.Hint = hint; hint == "write string(…)" {
				c.wrapInString(f, n, p)
			}
		}
		kept.items = kept.items || x.items
		t.Parts = append(t.Parts, program.Part{X: x.run})
	}
	if !ok {
		return nil, nil
	}
	c.keep(n, kept)
	return t, out
}

func (c *compiler) mapping(n *yamltree.Node, sc *compileScope, u *flow.Uses) (program.Template, *origin) {
	t := program.Map{}
	o, fieldTypes := &origin{Origin: flow.Origin{Fields: map[string]*flow.Origin{}}}, map[string]check.Type{}
	allConst, ok := true, true
	for _, f := range n.Fields {
		e := program.Entry{Name: f.Name}
		if yamltree.HasExpression(f.Name) {
			var from *origin
			e.Key, from = c.key(f, sc, u)
			ok = ok && e.Key != nil
			o.Drifts = o.Drifts || from.Moves()
			if e.Key != nil && len(e.Key.Parts) == 1 && e.Key.Parts[0].X == nil {
				e.Name, e.Key = e.Key.Parts[0].Text, nil
			}
		}
		value, from := c.template(f.Value, sc, u)
		if value == nil {
			ok = false
			continue
		}
		e.Value = value
		_, isConst := value.(program.Const)
		allConst = allConst && isConst && e.Key == nil
		steady := from.Steady()
		o.Waits, o.Drifts = o.Waits || steady.Waits, o.Drifts || steady.Drifts
		if e.Key == nil {
			o.Fields[e.Name], fieldTypes[e.Name] = steady, from.typ
		}
		t.Entries = append(t.Entries, e)
	}
	if !ok {
		return nil, nil
	}
	o.typ = c.mappingType(t, fieldTypes)
	if allConst {
		return program.Const{Value: constMap(t)}, o
	}
	return t, o
}

func (c *compiler) mappingType(t program.Map, fields map[string]check.Type) check.Type {
	if len(t.Entries) == 0 || slices.ContainsFunc(t.Entries, func(e program.Entry) bool { return e.Key != nil }) {
		return check.Of(types.NewMapType(types.StringType, types.DynType))
	}
	return c.types.Record(fields)
}

func constMap(t program.Map) map[string]any {
	m := make(map[string]any, len(t.Entries))
	for _, e := range t.Entries {
		if c, _ := e.Value.(program.Const); c.Value != nil {
			m[e.Name] = c.Value
		}
	}
	return m
}

func (c *compiler) key(f yamltree.Field, sc *compileScope, u *flow.Uses) (*program.Text, *origin) {
	parts, err := yamltree.Scan(f.Name)
	if err != nil {
		if wrong := c.ReportScan(f.Key, err); wrong.Code == diagnostic.CodeNotClosed {
			wrong.WithHint("YAML reads the text before \": \" as a key: put quotes around the whole ${…}")
		}
		return nil, nil
	}
	return c.textTemplate(f.Key, parts, sc, u)
}

func (c *compiler) sequence(n *yamltree.Node, sc *compileScope, u *flow.Uses) (program.Template, *origin) {
	t := program.List{}
	o, kind := &origin{}, check.NoType()
	allConst, ok := true, true
	for _, item := range n.Items {
		if x, from, isSpread := c.spread(item, sc, u); isSpread {
			allConst = false
			ok = ok && x != nil
			o.Drifts = o.Drifts || from.Moves()
			if x != nil {
				kind = check.Join(kind, c.types.Element(from.typ.Inner()).CEL())
			}
			t.Items = append(t.Items, program.Item{Spread: x})
			continue
		}
		value, from := c.template(item, sc, u)
		if value == nil {
			ok = false
			continue
		}
		kind = check.Join(kind, from.typ.Inner().CEL())
		o.Waits, o.Drifts = o.Waits || from.Waits, o.Drifts || from.Moves()
		_, isConst := value.(program.Const)
		allConst = allConst && isConst
		t.Items = append(t.Items, program.Item{Value: value})
	}
	o.typ = check.Of(types.NewListType(kind))
	switch {
	case !ok:
		return nil, nil
	case !allConst:
		return t, o
	}
	list := make([]any, len(t.Items))
	for i, item := range t.Items {
		list[i] = item.Value.(program.Const).Value //nolint:forcetypeassert // allConst says so.
	}
	return program.Const{Value: list}, o
}

// spread compiles a list item of the form ${...list}. It is false for every other item.
func (c *compiler) spread(n *yamltree.Node, sc *compileScope, u *flow.Uses) (*program.Expression, *origin, bool) {
	if s, _ := n.Text(); !strings.Contains(s, "...") {
		return nil, nil, false
	}
	whole, _ := yamltree.WholeOf(n)
	if !whole.Spread {
		return nil, nil, false
	}
	before := c.Count()
	x, from := c.expression(n, whole, sc, u)
	if x == nil {
		return nil, nil, true
	}
	if !x.CanBe(types.ListKind, types.NullTypeKind) && !check.IsOptional(x.CEL()) {
		c.ReportSpan(n, whole.Offset, len(whole.Text), diagnostic.CodeResultType, "${...list} needs a list, and this gives %s", x.Type)
		return nil, nil, true
	}
	c.keep(n, result{x: x, part: whole, items: x.items, wrong: c.ErrorsSince(before)})
	return x.run, from, true
}

// checkedExpression is an expression with what only the compiler needs.
type checkedExpression struct {
	*check.Expression
	// run is the part that programs keep.
	run  *program.Expression
	expr *celenv.Expression
	// items is true if the expression reads a name of forEach.
	items bool
	// plainPath is the path of which the expression consists; empty for every other expression.
	plainPath string
}

// goesInto makes the evaluation compare bytes and text with the field, if the type alone does not show that they fit.
func (x *checkedExpression) goesInto(s *openapi.Schema) {
	switch {
	case !x.CanBe(types.AnyKind, types.ListKind, types.MapKind, types.StructKind) || x.IsOf(s):
	case x.run.Into == nil:
		x.run.Into = s
	case x.run.Into != s:
		x.run.Into = &openapi.Schema{} // an alias of YAML stands in two fields
	}
}

// result is what the compiler knows of a scalar with expressions.
type result struct {
	// x is nil for text around expressions.
	x    *checkedExpression
	part yamltree.Part
	// items is true if an expression reads a name of forEach.
	items bool
	// wrong is true if an error in the expression was reported, so that its type means nothing.
	wrong bool
	// others are the expressions of the same scalar in other places, by YAML aliases.
	others []*checkedExpression
}

func (c *compiler) parsed(n *yamltree.Node) *celenv.Expression {
	if x := c.results[n].x; x != nil {
		return x.expr
	}
	return nil
}

func (x *checkedExpression) compiled() *program.Expression {
	if x == nil {
		return nil
	}
	return x.run
}

// expression compiles one ${…} of a scalar. It is nil after a finding.
func (c *compiler) expression(n *yamltree.Node, p yamltree.Part, sc *compileScope, u *flow.Uses) (*checkedExpression, *origin) {
	at := func(offset int) diagnostic.Position { return c.Within(n, p, max(offset, 0)) }
	report := func(offset int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
		return c.Report(at(offset), code, format, args...)
	}
	known, scope, before := &names{c: c, sc: sc}, sc.flow(), c.Count()
	expr, complete := c.parser.Parse(p.Text, scope, known, report)
	if expr == nil {
		return nil, nil
	}
	a := flow.Analyze(flow.Input{Expr: expr, Rule: c.rule, Children: c.children, Scope: scope, Names: known, Position: at, Report: report})
	maps.Copy(c.read, a.Live)
	c.drifts = c.drifts || a.Drifts
	if c.reads != nil {
		position := func(id int64) diagnostic.Position { return at(expr.Offset(id)) }
		a.Fields = append(a.Fields, flow.FieldReads(expr, func(name string) bool { return known.Origin(name) != nil }, position)...)
		c.noteStates(flow.StateReads(expr, position), a.Fields, sc.Place)
	}
	checked := check.Check(check.Input{Expr: expr, Table: c.types, Names: known, Parent: &c.rule.Parent, Exists: sc.asked, Fails: a.Fails, At: at, Quote: check.QuoteIn(n), Report: a.ReportNode})
	if len(expr.Issues()) > 0 && !c.ErrorsSince(before) {
		check.ReportIssues(expr, report)
	}
	if !complete || len(expr.Issues()) > 0 || !c.constants.CheckCalls(expr, at) {
		return nil, nil
	}
	if c.opts.Observe != nil {
		c.opts.Observe(checked, c.types)
	}
	for _, conversion := range checked.Conversions {
		c.meant = c.meant || conversion.Typed
	}
	prog, issues := celenv.NewProgram(expr, celenv.Options{
		CostLimit: c.limits.ExpressionCost, Absent: a.Absent, Moving: a.Moving, Conversions: checked.Conversions,
		Branch: c.branches(expr, at),
	})
	for _, i := range issues {
		report(i.Offset, diagnostic.CodeBadConstant, "%s", i.Message)
	}
	if len(issues) > 0 {
		return nil, nil
	}
	x := &program.Expression{Program: prog, Text: p.Text, Reads: a.Reads()}
	if !sc.off && !c.constants.Evaluate(expr, x, c.constantsOf(sc), at) {
		return nil, nil
	}
	if a.CallsRandom {
		a.Random = append(a.Random, n)
	}
	if a.Generates {
		a.Generated = append(a.Generated, n)
	}
	u.Add(&a.Uses)
	c.noteReads(n, a, expr)
	if c.reads != nil {
		c.reads.fields[n] = append(c.reads.fields[n], a.Fields...)
		c.noteItems(n, expr, known, at)
	}
	from := &origin{Origin: *a.Origin, typ: checked.Type, holds: checked.Exist}
	return &checkedExpression{Expression: checked, run: x, expr: expr, items: a.Items, plainPath: a.Path}, from
}

// noteReads records what a scalar reads, and whether that is a Secret. Where a Secret is, is no secret.
func (c *compiler) noteReads(n *yamltree.Node, a *flow.Analysis, expr *celenv.Expression) {
	if !isPlace(a.Path) && c.readsSecret(&a.Uses) || syntax.IsSecret(c.rule.Parent.GVK) && flow.ReadsContent(expr) {
		c.secret[n] = true
	}
	c.nodes[n] = append(c.nodes[n], a.Nodes...)
}

// noteItems records what the fields of a list's items are computed from.
func (c *compiler) noteItems(n *yamltree.Node, expr *celenv.Expression, known *names, at func(offset int) diagnostic.Position) {
	if name := flow.WholeVariable(expr.Root()); name != "" {
		c.reads.variables[n] = name
		return
	}
	fields, of := check.ItemFields(expr.Root())
	for name, e := range fields {
		isItem := func(name string) bool { return name == of || known.Origin(name) != nil }
		reads := flow.FieldReads(expr.Part(e), isItem, func(id int64) diagnostic.Position { return at(expr.Offset(id)) })
		c.reads.items[itemField{n, name}] = reads
	}
}

func (c *compiler) wrapInString(f *diagnostic.Finding, n *yamltree.Node, p yamltree.Part) {
	text := strings.TrimSpace(p.Text)
	f.WithEdit(c.rule.Source.Within(n, p.Offset+strings.Index(p.Text, text)), text, "string("+text+")")
}

// branches returns what records which side of each ?: an evaluation takes; nil without Options.Branches.
func (c *compiler) branches(expr *celenv.Expression, at func(offset int) diagnostic.Position) func(id int64, holds bool) {
	if c.opts.Branches == nil {
		return nil
	}
	start := func(e ast.Expr) diagnostic.Position { return at(expr.Start(e)) }
	noted := map[int64]func(holds bool){}
	for _, e := range expr.Nodes() {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Conditional {
			args := e.AsCall().Args()
			noted[e.ID()] = c.opts.Branches(expr.Source(args[0]), start(args[1]), start(args[2]))
		}
	}
	return func(id int64, holds bool) {
		if note := noted[id]; note != nil {
			note(holds)
		}
	}
}

// checkPlainText warns of text that is probably meant as an expression: a path without ${}, or the syntax of other
// tools.
func (c *compiler) checkPlainText(n *yamltree.Node, s string) {
	if !strings.Contains(s, "{{") && !strings.Contains(s, flow.RootParent+".") && !strings.Contains(s, flow.RootVariables+".") &&
		!strings.Contains(s, flow.RootLookups+".") && !strings.Contains(s, flow.RootChildren+".") {
		return
	}
	const path = `(?:parent\.(?:spec|metadata|status)|(?:children|lookups|variables)\.([A-Za-z_]\w*))(?:\.\??[A-Za-z_]\w*|\[[^\]]*\])*`
	if m := regexp.MustCompile(`^` + path + `$`).FindStringSubmatch(s); m != nil && c.isMember(m[1]) {
		f := c.ReportAt(n, 0, diagnostic.CodeLooksLike, "this is literal text, and not the value of the path")
		f.WithHint("write ${%s}", s)
		syntax.SuggestExpression(f, n, s)
		return
	}
	// $(path), {path} and {{path}}.
	bracketed := regexp.MustCompile(`(?:\$\(|\{\{?) *(` + path + `) *[)}]`)
	if m := bracketed.FindStringSubmatchIndex(s); m != nil {
		f := c.ReportSpan(n, m[0], m[1]-m[0], diagnostic.CodeLooksLike, "this is literal text, and not the value of the path")
		f.WithHint("write ${%s}", s[m[2]:m[3]])
		if !n.IsPlain() {
			f.WithEdit(f.Position, s[m[0]:m[1]], "${"+s[m[2]:m[3]]+"}")
		}
		return
	}
	foreign := regexp.MustCompile(`\{\{-? *(?:\.(?:Values|Release|Chart)\.|request\.)`)
	if m := foreign.FindStringIndex(s); m != nil {
		c.ReportSpan(n, m[0], m[1]-m[0], diagnostic.CodeLooksLike, "{{ }} means nothing to Kanon, so this is literal text").
			WithHint("write an expression, such as ${parent.metadata.name}")
	}
}

func (c *compiler) isMember(name string) bool {
	return name == "" || c.children[name] != nil || c.lookups[name] != nil || c.variables[name] != nil
}
