package rules

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/readiness"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Options say how rules are compiled. In the zero value, kinds are not looked up, and a template without a namespace
// gets the parent's.
type Options struct {
	// Kinds knows which kinds exist. nil: every kind counts as existing and namespaced.
	Kinds Kinds
	// AwaitKinds compiles a rule although the kind of a child, a lookup or a patch is missing. That node waits for its
	// kind, and a warning says so. Without AwaitKinds, a kind that is known to be missing is an error.
	AwaitKinds bool
	// Schemas has the schemas that expressions and templates are checked against. nil: they are not checked.
	Schemas openapi.Schemas
	// Namespace is the namespace of the source. It is Kanon's own, in which rules act cluster-wide, or with Confined
	// the one to which the rule is confined. A rule that names another namespace is an error. Empty: the namespace is
	// not checked.
	Namespace string
	// Confined is true for a rule that must not reach beyond Namespace.
	Confined bool
	// Branches is called at compile time for each ?: of the rule, with its condition and the positions of its two
	// sides. The returned function is called with the condition at each evaluation. nil: costs nothing.
	Branches func(condition string, yes, no diagnostic.Position) func(holds bool)
	// Conditions is called at compile time for each condition of the rule, such as a when, with its place and its
	// position. The returned function is called with the result of each evaluation. May be nil.
	Conditions func(place string, at diagnostic.Position) func(holds bool)
	// Limits bound the cost of an evaluation.
	Limits program.Limits
	// Observe is called with each expression once its types are known, and with the types of its rule. May be nil.
	Observe func(x *check.Expression, table *check.Table)
}

// compiler is the state while one rule is compiled.
type compiler struct {
	*check.Reporter
	rule      *syntax.Rule
	opts      Options
	limits    *program.Limits
	children  map[string]*syntax.Child
	families  map[string]*family
	lookups   map[string]*lookupState
	variables map[string]*variable
	// read has the children whose live object an expression reads.
	read map[string]bool
	// readers are the parts of the rule, besides nodes, that must not read what is skipped.
	readers []*reader
	// stack are the variables and lookups being compiled, outermost first.
	stack []pending
	// types are the types that schemas give. results has what is known of the scalars with expressions, in the part of
	// the rule that is being compiled.
	types   *check.Table
	results map[*yamltree.Node]result
	// certain has the schemas of kinds that Options.Schemas may lack.
	certain map[schema.GroupVersionKind]*openapi.Schema
	// reads has what the expressions of each scalar read; nil in rules for which it does not matter.
	reads *fieldReads
	// secret are the scalars with an expression that reads a Secret.
	secret map[*yamltree.Node]bool
	// nodes has the nodes of the rule that the expressions of each scalar read, and private the children whose names are
	// computed from Secrets.
	nodes   map[*yamltree.Node][]flow.Ref
	private map[string]bool
	// constants are the expressions that read nothing.
	constants *evaluator
	env       *celenv.Env
	parser    *check.Parser
	// scopes are the scopes of the children, by id; nil unless expressions are compiled beside the rule.
	scopes map[string]*compileScope
	// meant is true once some text is converted to the type that its schema declares.
	meant bool
	// asked are the paths that exist because spec.parent.when requires them.
	asked map[string]bool
	// unchecked are the kinds that were reported as unknown.
	unchecked map[schema.GroupVersionKind]bool
	// drifts is true if something that is rendered changes with the clock.
	drifts bool
	// statusKinds are the custom kinds of the rule that have a status.
	statusKinds celenv.StatusKinds
}

// Compile turns a rule into a program. The findings are complete and sorted. The program is nil if one of them is an
// error, and for a partial rule, whose other errors Decode has reported. Compile does not report again what follows
// from those.
func Compile(r *syntax.Rule, o Options) (*program.Program, diagnostic.Findings) {
	env, err := celenv.Shared()
	if err != nil {
		return nil, diagnostic.List{diagnostic.New(r.Position, diagnostic.CodeEnvironment, "%s", err.Error())}.Findings(r.Source)
	}
	return newCompiler(r, o, env).compile()
}

func newCompiler(r *syntax.Rule, o Options, env *celenv.Env) *compiler {
	limits := o.Limits.WithDefaults()
	c := &compiler{
		Reporter: check.NewReporter(r.Source), read: make(map[string]bool),
		rule: r, opts: o, limits: &limits, unchecked: map[schema.GroupVersionKind]bool{},
		children: map[string]*syntax.Child{}, families: map[string]*family{},
		lookups: map[string]*lookupState{}, variables: map[string]*variable{},
		types: check.NewTable(), certain: certainSchemas(), results: map[*yamltree.Node]result{}, env: env, parser: check.NewParser(env),
		statusKinds: celenv.StatusKinds{}, reads: newFieldReads(r), secret: map[*yamltree.Node]bool{},
		nodes: map[*yamltree.Node][]flow.Ref{}, private: map[string]bool{},
	}
	c.constants = newEvaluator(r.Source, c.limits, c.Reporter)
	return c
}

func (c *compiler) variableValue(name string) *yamltree.Node {
	if v := c.variables[name]; v != nil && name != "" { // those without a name were reported
		return v.spec.Value
	}
	return nil
}

func (c *compiler) compile() (*program.Program, diagnostic.Findings) {
	c.declare()
	p := c.program()
	c.checkBooleanWords()
	findings := c.Findings()
	if c.rule.Partial || findings.HasErrors() {
		return nil, findings
	}
	return p, findings
}

// checkBooleanWords reports words that kubectl reads as booleans. It skips values with another finding: a boolean may
// be meant there.
func (c *compiler) checkBooleanWords() {
	for _, n := range c.rule.BooleanWords {
		if !c.IsWrong(c.rule.Source.At(n)) { // an alias refers to a node that has been reported
			syntax.SuggestQuotes(c.ReportNode(n, diagnostic.CodeBooleanWord, "kubectl reads %s without quotes as a boolean, and Kanon as text", n.Raw()), n)
		}
	}
}

func (c *compiler) declare() {
	r := c.rule
	for i := range r.Children {
		if id := r.Children[i].ID; id != "" {
			c.children[id] = &r.Children[i]
		}
	}
	for i := range r.Lookups {
		if id := r.Lookups[i].ID; id != "" {
			c.lookups[id] = newLookupState(&r.Lookups[i])
		}
	}
	for i, spec := range r.Variables {
		c.variables[spec.Name] = newVariable(spec, i)
	}
	c.pairUp()
}

func (c *compiler) program() *program.Program {
	r := c.rule
	p := &program.Program{
		Name: r.Name, Namespace: r.Namespace, Hash: r.Hash(), Suspend: r.Suspend, ConditionPrefix: r.ConditionPrefix,
		Variables: make(map[string]*program.Variable, len(c.variables)), ByID: map[string]int{}, Limits: c.limits,
		OnRuleDeletion: r.OnRuleDeletion, PruneLimit: r.PruneLimit, StatusKinds: c.statusKinds,
	}
	c.checkPlace(p)
	// rest is what the parts of the rule read that are neither nodes nor variables.
	all, rest := &flow.Uses{}, &flow.Uses{}
	p.Parent = c.parent(rest)
	for _, name := range slices.Sorted(maps.Keys(c.variables)) {
		v := c.compileVariable(c.variables[name], c.ruleScope("spec.variables"))
		p.Variables[name] = v.Variable
		all.Add(v.uses)
	}
	c.compileLookups(p, all)
	nodes := make([]*childNode, 0, len(r.Children))
	for i := range r.Children {
		child, n := c.child(&r.Children[i], p)
		p.Children = append(p.Children, child)
		if child.ID != "" {
			p.ByID[child.ID] = i
		}
		nodes = append(nodes, n)
		all.Add(&n.Uses)
	}
	c.findPrivate(p)
	p.Patches = c.patches(p, rest)
	if r.Status != nil {
		p.Status = c.status(rest)
	}
	p.Conditions = c.conditions()
	c.checkConditionsSchema()
	p.Events = c.events()
	p.RequeueAfter, p.MinInterval = c.duration(r.RequeueAfter, rest), c.duration(r.MinInterval, rest)
	p.DeleteWhen = c.compileDeleteWhen(rest)
	p.Drifts, p.Meant = c.drifts, c.meant
	p.HasSecrets = r.HasSecrets()
	c.ownReads(p, all, rest)
	p.Finalize = c.compileFinalize(rest)
	for _, child := range p.Children {
		p.HidesNames, p.HidesKeys = p.HidesNames || child.Private, p.HidesKeys || child.PrivateKeys
		child.Read = c.read[child.ID] || child.Rollout != nil || child.ReadyWhen == nil && !readiness.AlwaysCurrent(child.GVK.GroupKind())
	}
	c.linkFamilies(p)
	p.Order = c.orderChildren(p, nodes)
	rankChildren(p)
	c.checkSkips(nodes, rest)
	c.checkRenamed()
	c.checkSame(p)
	c.checkNamespaces(p)
	c.checkMarks()
	c.checkRecursion(p)
	return p
}

func (c *compiler) ruleScope(place string) *compileScope {
	return &compileScope{Scope: flow.Scope{Place: place, AllowChildren: true}, asked: c.asked}
}

func (c *compiler) parent(u *flow.Uses) program.Parent {
	spec := c.rule.Parent
	p := program.Parent{
		GVK: spec.GVK, Selector: spec.Selector, NamespaceSelector: spec.NamespaceSelector,
		Namespaces: spec.Namespaces, Namespaced: true,
	}
	if k, ok := c.kind(spec.GVK, spec.Node, parentVerbs(), kindUse{}); ok {
		p.Namespaced = k.Namespaced
		if !k.Namespaced && (len(spec.Namespaces) > 0 || spec.NamespaceSelector != nil) {
			c.Report(spec.Pos, diagnostic.CodeParentNamespaces, "%s is cluster-scoped, so spec.parent.namespaces and namespaceSelector cannot match", spec.GVK.Kind).
				WithHint("select by labels, with spec.parent.selector")
		}
	}
	c.confineParent(&p)
	if spec.When == nil {
		return p
	}
	x := c.condition(spec.When, &compileScope{Scope: flow.Scope{Place: "spec.parent.when"}}, u)
	if x != nil {
		c.asked = x.Exist
	}
	p.When = x.compiled()
	return p
}

// condition compiles an expression that must give a bool, and reports one that always gives the same.
func (c *compiler) condition(n *yamltree.Node, sc *compileScope, u *flow.Uses) *checkedExpression {
	x, part := c.boolean(n, sc, u)
	if x != nil {
		c.checkConstant(n, part, x, sc)
		if c.opts.Conditions != nil {
			x.run.Note(c.opts.Conditions(sc.Place, c.rule.Source.At(n)))
		}
	}
	return x
}

func (c *compiler) boolean(n *yamltree.Node, sc *compileScope, u *flow.Uses) (*checkedExpression, yamltree.Part) {
	x, part := c.whole(n, sc, u)
	if x == nil {
		return nil, part
	}
	if k := x.Kind(); k != types.BoolKind && k != types.DynKind {
		c.ReportSpan(n, part.Offset, len(part.Text), diagnostic.CodeResultType, "%s must be true or false, and this gives %s", sc.Place, x.Type).
			Hint = x.BoolHint(x.Path())
		return nil, part
	}
	if known := c.constants.Of(x.run); known != nil && !known.IsBool {
		c.ReportSpan(n, part.Offset, len(part.Text), diagnostic.CodeResultType, "%s must be true or false, and this gives %s", sc.Place, known.Kind)
		return nil, part
	}
	return x, part
}

// checkConstant reports a condition whose result does not depend on what it reads. A constant variable is a setting of the
// rule: it may switch a part of the rule on or off.
func (c *compiler) checkConstant(n *yamltree.Node, part yamltree.Part, x *checkedExpression, sc *compileScope) {
	holds, ok := x.Truth()
	if known := c.constants.Of(x.run); !ok && !known.Reads() {
		holds, ok = known.Bool()
	}
	if ok {
		c.ReportSpan(n, part.Offset, len(part.Text), diagnostic.CodeConstant, "%s is always %t", sc.Place, holds)
	}
}

func anyText(string) bool { return true }

func (c *compiler) whole(n *yamltree.Node, sc *compileScope, u *flow.Uses) (*checkedExpression, yamltree.Part) {
	s, _ := n.Text()
	parts, err := yamltree.Scan(s)
	if err != nil {
		c.ReportScan(n, err)
		return nil, yamltree.Part{}
	}
	p, ok := yamltree.Whole(parts)
	if !ok || p.Spread {
		c.ReportAround(n, anyText, diagnostic.CodeNotExpression, "%s must be one expression, ${…}, with nothing around it", sc.Place)
		return nil, yamltree.Part{}
	}
	x, _ := c.expression(n, p, sc, u)
	return x, p
}
