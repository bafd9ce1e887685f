package rules

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// AdHocCompiler compiles expressions and templates that are no part of a rule, with the names and types of the rule. It is not
// safe for concurrent use.
type AdHocCompiler struct {
	Program *program.Program
	c       *compiler
}

// NewAdHocCompiler compiles a rule, as Compile does, and returns a compiler for more. It is nil if the rule has no program.
func NewAdHocCompiler(r *syntax.Rule, o Options) (*AdHocCompiler, diagnostic.Findings) {
	env, err := celenv.Shared()
	if err != nil {
		return nil, diagnostic.List{diagnostic.New(r.Position, diagnostic.CodeEnvironment, "%s", err.Error())}.Findings(r.Source)
	}
	c := newCompiler(r, o, env)
	c.scopes = map[string]*compileScope{}
	p, findings := c.compile()
	if p == nil {
		return nil, findings
	}
	return &AdHocCompiler{Program: p, c: c}, findings
}

// AdHocTemplate is a template that was compiled beside a rule.
type AdHocTemplate struct {
	Template program.Template
	// Type describes the type of the value, for people.
	Type string
}

// Compile compiles a node of a source: a template, or an expression without ${ and } around it. in is the child whose
// scope applies; empty for the scope of the rule. Values that a rule must not render, such as now, are allowed.
func (b *AdHocCompiler) Compile(source *yamltree.Source, n *yamltree.Node, isExpression bool, in string) (*AdHocTemplate, diagnostic.Findings) {
	c, rule := b.c, b.c.rule
	beside := *rule
	beside.Source = source
	c.rule, c.Reporter, c.results = &beside, check.NewReporter(source), map[*yamltree.Node]result{}
	c.parser, c.constants = check.NewParser(c.env), newEvaluator(source, c.limits, c.Reporter)
	defer func() { c.rule = rule }()
	var t program.Template
	var from *origin
	if text, isText := n.Text(); isExpression && isText {
		sc := b.scope(in)
		sc.Bare = true
		var x *checkedExpression
		if x, from = c.expression(n, yamltree.Part{Expr: true, Text: text}, sc, &flow.Uses{}); x != nil {
			t = program.Expr{X: x.run}
		}
	} else {
		t, from = c.template(n, b.scope(in), &flow.Uses{})
	}
	findings := c.Findings()
	if t == nil || findings.HasErrors() {
		return nil, findings
	}
	return &AdHocTemplate{Template: t, Type: from.typ.String()}, findings
}

// scope is the scope of a child; for an empty id, that of the rule.
func (b *AdHocCompiler) scope(in string) *compileScope {
	sc := b.c.ruleScope("the expression")
	if own := b.c.scopes[in]; own != nil {
		inner := *b.c.selfScope(own, b.Program.Children[b.Program.ByID[in]], sc.Place)
		inner.Own, inner.OwnGenerated = "", ""
		sc = &inner
	}
	sc.MayMove, sc.Random, sc.OwnRandom = true, true, true
	if b.c.rule.Status != nil {
		names := map[string]*origin{flow.RootStatus: {Origin: flow.Origin{Waits: true, Root: flow.RootStatus}, typ: check.Of(types.DynType)}}
		maps.Copy(names, sc.names)
		sc.names = names
	}
	return sc
}

// Names lists what an expression can start with.
func (b *AdHocCompiler) Names(in string) []string { return b.scope(in).roots() }

// Members lists what can follow a root such as variables.
func (b *AdHocCompiler) Members(root, in string) []string {
	if !flow.IsGroup(root) {
		return nil
	}
	known := &names{c: b.c, sc: b.scope(in)}
	return slices.DeleteFunc(slices.Clone(known.Members(root)), func(name string) bool { return name == "" })
}
