package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/scanner"
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

// in is the scope of a field below the part.
func (s *compileScope) in(part string) *compileScope {
	inner := *s
	inner.Place += part
	return &inner
}

// flow is the scope for package flow.
func (s *compileScope) flow() flow.Scope {
	known := s.Scope
	known.Roots = s.roots()
	return known
}

// roots lists the names that an expression may start with.
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
func (c *compiler) template(n *yamltree.Node, sc *compileScope, u *flow.Uses) (template.Template, *origin) {
	switch n.Kind {
	case yamltree.Mapping:
		return c.mapping(n, sc, u)
	case yamltree.Sequence:
		return c.sequence(n, sc, u)
	}
	s, ok := n.Text()
	if !ok || !scanner.HasExpression(s) {
		if ok {
			c.checkPlainText(n, s)
		}
		return template.Const{Value: n.Value}, &origin{typ: check.ScalarType(n.Value)}
	}
	parts, err := scanner.Scan(s)
	if err != nil {
		c.ReportScan(n, err)
		return nil, nil
	}
	if whole, ok := scanner.Whole(parts); ok {
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
		return template.Expr{X: x.run}, o
	}
	t, from := c.textTemplate(n, parts, sc, u)
	switch {
	case t == nil:
		return nil, nil
	case len(t.Parts) == 1 && t.Parts[0].X == nil:
		return template.Const{Value: t.Parts[0].Text}, &origin{typ: check.ScalarType(t.Parts[0].Text)}
	}
	return *t, from
}

// keep records what a scalar gives, for later checks.
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
func (c *compiler) textTemplate(n *yamltree.Node, parts []scanner.Part, sc *compileScope, u *flow.Uses) (*template.Text, *origin) {
	t, out := &template.Text{}, &origin{typ: check.Of(types.StringType)}
	ok, kept := true, result{}
	for _, p := range parts {
		if !p.Expr {
			t.Parts = append(t.Parts, template.Part{Text: p.Text})
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
		t.Parts = append(t.Parts, template.Part{X: x.run})
	}
	if !ok {
		return nil, nil
	}
	c.keep(n, kept)
	return t, out
}

func (c *compiler) mapping(n *yamltree.Node, sc *compileScope, u *flow.Uses) (template.Template, *origin) {
	t := template.Map{}
	o, fieldTypes := &origin{Origin: flow.Origin{Fields: map[string]*flow.Origin{}}}, map[string]check.Type{}
	allConst, ok := true, true
	for _, f := range n.Fields {
		e := template.Entry{Name: f.Name}
		if scanner.HasExpression(f.Name) {
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
		_, isConst := value.(template.Const)
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
		return template.Const{Value: constMap(t)}, o
	}
	return t, o
}

// mappingType is the type of a mapping whose fields have these types.
func (c *compiler) mappingType(t template.Map, fields map[string]check.Type) check.Type {
	if len(t.Entries) == 0 || slices.ContainsFunc(t.Entries, func(e template.Entry) bool { return e.Key != nil }) {
		return check.Of(types.NewMapType(types.StringType, types.DynType))
	}
	return c.types.Record(fields)
}

// constMap renders a mapping without expressions.
func constMap(t template.Map) map[string]any {
	m := make(map[string]any, len(t.Entries))
	for _, e := range t.Entries {
		if c, _ := e.Value.(template.Const); c.Value != nil {
			m[e.Name] = c.Value
		}
	}
	return m
}

func (c *compiler) key(f yamltree.Field, sc *compileScope, u *flow.Uses) (*template.Text, *origin) {
	parts, err := scanner.Scan(f.Name)
	if err != nil {
		if wrong := c.ReportScan(f.Key, err); wrong.Code == diagnostic.CodeNotClosed {
			wrong.WithHint("YAML reads the text before \": \" as a key: put quotes around the whole ${…}")
		}
		return nil, nil
	}
	return c.textTemplate(f.Key, parts, sc, u)
}

func (c *compiler) sequence(n *yamltree.Node, sc *compileScope, u *flow.Uses) (template.Template, *origin) {
	t := template.List{}
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
			t.Items = append(t.Items, template.Item{Spread: x})
			continue
		}
		value, from := c.template(item, sc, u)
		if value == nil {
			ok = false
			continue
		}
		kind = check.Join(kind, from.typ.Inner().CEL())
		o.Waits, o.Drifts = o.Waits || from.Waits, o.Drifts || from.Moves()
		_, isConst := value.(template.Const)
		allConst = allConst && isConst
		t.Items = append(t.Items, template.Item{Value: value})
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
		list[i] = item.Value.(template.Const).Value //nolint:forcetypeassert // allConst says so.
	}
	return template.Const{Value: list}, o
}

// spread compiles a list item of the form ${...list}. It is false for every other item.
func (c *compiler) spread(n *yamltree.Node, sc *compileScope, u *flow.Uses) (*template.Expression, *origin, bool) {
	if s, _ := n.Text(); !strings.Contains(s, "...") {
		return nil, nil, false
	}
	whole, _ := scanner.WholeOf(n)
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
	run  *template.Expression
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
	part scanner.Part
	// items is true if an expression reads a name of forEach.
	items bool
	// wrong is true if an error in the expression was reported, so that its type means nothing.
	wrong bool
	// others are the expressions of the same scalar in other places, by YAML aliases.
	others []*checkedExpression
}

// parsed is the expression of which a scalar consists; nil for every other node.
func (c *compiler) parsed(n *yamltree.Node) *celenv.Expression {
	if x := c.results[n].x; x != nil {
		return x.expr
	}
	return nil
}

// constantText is the text that the expression of a scalar always gives. It is false for every other node.
func (c *compiler) constantText(n *yamltree.Node) (string, scanner.Part, bool) {
	r := c.results[n]
	if n == nil || r.x == nil {
		return "", scanner.Part{}, false
	}
	text, ok := c.constants.Of(r.x.run).Text()
	return text, r.part, ok
}

// compiled is the expression for programs; nil for nil.
func (x *checkedExpression) compiled() *template.Expression {
	if x == nil {
		return nil
	}
	return x.run
}

// expression compiles one ${…} of a scalar. It is nil after a finding.
func (c *compiler) expression(n *yamltree.Node, p scanner.Part, sc *compileScope, u *flow.Uses) (*checkedExpression, *origin) {
	at := func(offset int) diagnostic.Position { return c.Within(n, p, max(offset, 0)) }
	report := func(offset int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
		return c.Report(at(offset), code, format, args...)
	}
	known, scope := &names{c: c, sc: sc, node: n}, sc.flow()
	expr, complete := c.parser.Parse(p.Text, scope, known, report)
	if expr == nil {
		return nil, nil
	}
	known.expr = expr
	a := flow.Analyze(flow.Input{Expr: expr, Rule: c.rule, Children: c.children, Scope: scope, Names: known, Position: at, Report: report})
	maps.Copy(c.read, a.Live)
	c.drifts = c.drifts || a.Drifts
	if c.fieldReads != nil {
		position := func(id int64) diagnostic.Position { return at(expr.Offset(id)) }
		a.Fields = append(a.Fields, flow.FieldReads(expr, func(name string) bool { return known.Origin(name) != nil }, position)...)
		c.fieldReads.NoteStates(flow.StateReads(expr, position), a.Fields, sc.Place)
	}
	if !complete {
		return nil, nil
	}
	checked := check.Check(check.Input{Expr: expr, Table: c.types, Names: known, Parent: &c.rule.Parent, Exists: sc.asked, Fails: a.Fails, At: at, Quote: check.QuoteIn(n), Report: a.ReportNode})
	if c.opts.Observe != nil {
		c.opts.Observe(checked, c.types)
	}
	c.meant = c.meant || len(checked.Conversions) > 0
	prog, issues := run.New(expr, run.Options{
		CostLimit: c.limits.ExpressionCost, Absent: a.Absent, Moving: a.Moving, Conversions: checked.Conversions, Encoded: checked.Encoded,
		Branch: c.branches(expr, at),
	})
	if check.ReportConstants(expr, issues, report); len(issues) > 0 {
		return nil, nil
	}
	c.constants.CheckCost(expr, at(0))
	x := &template.Expression{Program: prog, Text: p.Text, Reads: a.Reads()}
	if !c.constants.CheckCalls(expr, at) || !sc.off && !c.constants.Evaluate(expr, x, c.constantsOf(sc), at) {
		return nil, nil
	}
	if a.CallsRandom {
		a.Random = append(a.Random, n)
	}
	if a.Generates {
		a.Generated = append(a.Generated, n)
	}
	u.Add(&a.Uses)
	if c.fieldReads != nil {
		c.fieldReads.Note(n, a.Fields)
		c.noteItems(n, expr, known, at)
	}
	from := &origin{Origin: *a.Origin, typ: checked.Type, holds: checked.Exist}
	return &checkedExpression{Expression: checked, run: x, expr: expr, items: a.Items, plainPath: a.Path}, from
}

// noteItems records what the fields of a list's items are computed from.
func (c *compiler) noteItems(n *yamltree.Node, expr *celenv.Expression, known *names, at func(offset int) diagnostic.Position) {
	if name := flow.WholeVariable(expr.Root()); name != "" {
		c.fieldReads.NoteVariable(n, name)
		return
	}
	fields, of := check.ItemFields(expr.Root())
	for name, e := range fields {
		isItem := func(name string) bool { return name == of || known.Origin(name) != nil }
		reads := flow.FieldReads(expr.Part(e), isItem, func(id int64) diagnostic.Position { return at(expr.Offset(id)) })
		c.fieldReads.NoteItemField(n, name, reads)
	}
}

// wrapInString gives a finding the edit that wraps the expression in string(…).
func (c *compiler) wrapInString(f *diagnostic.Finding, n *yamltree.Node, p scanner.Part) {
	text := strings.TrimSpace(p.Text)
	f.WithEdit(c.rule.Source.Within(n, p.Offset+strings.Index(p.Text, text)), text, "string("+text+")")
}

// branches returns what records which side of each ?: an evaluation takes; nil without Options.Branches.
func (c *compiler) branches(expr *celenv.Expression, at func(offset int) diagnostic.Position) func(id int64, holds bool) {
	if c.opts.Branches == nil {
		return nil
	}
	start := func(e ast.Expr) diagnostic.Position {
		first := len(expr.Text())
		for below := range celenv.All(e) {
			if offset := expr.Offset(below.ID()); offset >= 0 {
				first = min(first, offset)
			}
		}
		return at(first)
	}
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
