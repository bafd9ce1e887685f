package flow

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// Names resolves the names in an expression.
type Names interface {
	// Origin is the origin of a forEach name, of self or of status; nil for every other name.
	Origin(name string) *Origin
	// Variable and Lookup are nil if nothing has the name.
	Variable(name string) *Variable
	Lookup(id string) *Lookup
	// Members lists the names that can follow a root, for hints.
	Members(root string) []string
	// RandomHint says how a random value can be kept.
	RandomHint() string
}

// Variable is what is known of a variable that was compiled.
type Variable struct {
	// Origin is nil if it is not known.
	Origin *Origin
	Uses   *Uses
	// Local is true for a variable of a child, a lookup or a patch.
	Local bool
	// StandsFor is the path of which the variable consists, if it does; see Analysis.Path.
	StandsFor string
}

// Lookup is what is known of a lookup that was compiled.
type Lookup struct {
	*syntax.Lookup
	Uses  *Uses
	Guard *Guard
}

// Scope is what the expressions of one part of a rule may use.
type Scope struct {
	// Place names the part for messages.
	Place string
	// Bare is true for an expression without ${ and } around it.
	Bare bool
	// Roots are the names that an expression may start with. OpenNames is true if there are names that could not be
	// read.
	Roots     []string
	OpenNames bool
	// AllowChildren is false if children cannot be read.
	AllowChildren bool
	// MayMove is true for a variable: only a variable may have a value that changes with the clock.
	MayMove bool
	// Rendered is true for a template. Its values may change with the clock if spec.requeueAfter sets how often it is
	// rendered.
	Rendered bool
	// Random is true if random can be called here, and OwnRandom if the variables of the child can call it.
	Random, OwnRandom bool
	// Own is the child whose template, or variable, is compiled, if random can be the default of a field of its own
	// observed object. OwnGenerated is the child whose variables may have such a default.
	Own, OwnGenerated string
	// Family are the children with the same items as the one that is compiled: the members of each.
	Family []string
	// Child is the child whose live object self is; empty without self.
	Child string
	// OpenVariables is true if there are variables that could not be read.
	OpenVariables bool
}

// Report reports something at an offset in an expression.
type Report func(offset int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding

// Input is an expression that CEL's checker has passed, and its context.
type Input struct {
	Expr     *celenv.Expression
	Rule     *syntax.Rule
	Children map[string]*syntax.Child
	Scope    Scope
	Names    Names
	Report   Report
	// Position is the position of an offset in the expression.
	Position func(offset int) diagnostic.Position
}

// Read is a field or an index that an expression reads, and what follows if it does not exist.
type Read struct {
	Node  int64
	Waits bool
	// Text is the read as CEL writes it.
	Text string
}

// Analysis is what an expression reads, and the origin of its value.
type Analysis struct {
	Uses
	Origin *Origin
	// Live are the children whose live object is read.
	Live map[string]bool
	// Absent maps a node has(path), whose path may fill in later, to the nodes of the path.
	Absent map[int64][]int64
	// Moving are the nodes that record when their value changes, with the speeds of their operands.
	Moving map[int64][]int
	// CallsRandom is true if the value is random. Generates is true if random is the default of a field of the child's
	// own observed object.
	CallsRandom, Generates bool
	// Drifts is true if a value that is rendered changes with the clock.
	Drifts bool
	// Path is the text of the expression if it is a path into an object of the cluster, without a question mark and
	// without a computed key. It is empty for every other expression.
	Path string

	in    Input
	reads map[int64]Read
	// reported prevents a second finding if the body of a loop is visited twice.
	reported map[int64]bool
}

// Analyze finds what an expression reads, and reports what it must not read.
func Analyze(in Input) *Analysis {
	a := &analyzer{
		Input: in,
		out: &Analysis{
			Live: map[string]bool{}, Absent: map[int64][]int64{}, Moving: map[int64][]int{},
			in: in, reads: map[int64]Read{}, reported: map[int64]bool{},
		},
	}
	a.out.Origin = a.value(in.Expr.Root(), nil)
	a.out.GuardOwn()
	a.checkMoving(a.out.Origin)
	a.out.Path = a.plainPath()
	return a.out
}

// Reads lists the reads in the order of their nodes.
func (a *Analysis) Reads() []Read {
	return slices.SortedFunc(maps.Values(a.reads), func(x, y Read) int { return cmp.Compare(x.Node, y.Node) })
}

// Fails reports whether the expression fails, instead of waiting, if a read finds nothing.
func (a *Analysis) Fails(id int64) bool {
	r, ok := a.reads[id]
	return ok && !r.Waits
}

// ReportNode reports something about a node, and about a name in it unless that is empty. A node has one finding at
// most.
func (a *Analysis) ReportNode(id int64, name string, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	if a.reported[id] {
		return &diagnostic.Finding{} // that is kept nowhere
	}
	a.reported[id] = true
	offset := a.in.Expr.Offset(id)
	f := a.in.Report(offset, code, format, args...)
	if name != "" {
		f.Position = a.in.Position(NameOffset(a.in.Expr.Text(), offset, name))
		f.Length = utf8.RuneCountInString(name)
	}
	return f
}

// analyzer visits the nodes of one expression.
type analyzer struct {
	Input
	out *Analysis
	// driftsAt is the first node whose value changes with the clock in a way that is not followed.
	driftsAt ast.Expr
	// presence is true below has(), where only existence is tested.
	presence bool
	// path is the outermost node of the path that is being visited. Messages name it if a part of the path does not
	// exist yet.
	path ast.Expr
}

// bindings are the origins of the names that the expression itself declares.
type bindings = celenv.Bindings[*Origin]

func (a *analyzer) at(e ast.Expr) diagnostic.Position { return a.Position(a.Expr.Offset(e.ID())) }

func (a *analyzer) report(e ast.Expr, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return a.out.ReportNode(e.ID(), "", code, format, args...)
}

// value is the origin of a node whose value is used.
func (a *analyzer) value(e ast.Expr, env bindings) *Origin {
	outer, presence := a.path, a.presence
	a.path, a.presence = nil, false
	o := a.walk(e, env)
	a.path, a.presence = outer, presence
	if IsGroup(o.Root) {
		a.report(e, diagnostic.CodeNoMember, "%s must be followed by a name, as in %s.%s", o.Root, o.Root, a.exampleMember(o.Root))
		return fixed()
	}
	a.noteWhole(o)
	return o
}

func (a *analyzer) walk(e ast.Expr, env bindings) *Origin {
	if step, ok := StepOf(e); ok {
		if step.Literal {
			return a.field(step, env)
		}
		return a.item(step, env)
	}
	switch e.Kind() {
	case ast.IdentKind:
		return a.ident(e, env)
	case ast.CallKind:
		return a.call(e, env)
	case ast.ComprehensionKind:
		return a.comprehension(e.AsComprehension(), env)
	case ast.MapKind:
		return a.mapLiteral(e, env)
	default:
		out := fixed()
		for _, o := range celenv.Operands(e) {
			out = Join(out, a.value(o, env))
		}
		return out
	}
}

func (a *analyzer) call(e ast.Expr, env bindings) *Origin {
	call := e.AsCall()
	if args := call.Args(); call.FunctionName() == operators.Conditional {
		condition := a.value(args[0], env)
		return a.conditional(e, condition, a.walk(args[1], env), a.walk(args[2], env))
	}
	out := fixed()
	var operands []*Origin
	for _, o := range celenv.Operands(e) {
		operands = append(operands, a.value(o, env))
		out.Waits = out.Waits || operands[len(operands)-1].Waits
	}
	a.noteNullTest(call, operands)
	a.checkRandom(e)
	if call.FunctionName() == "value" && call.IsMemberFunction() {
		a.note(e.ID(), out.Waits, call.Target())
	}
	if moved := a.clockedCall(e, operands); moved != nil {
		out.speed, out.Drifts = moved.speed, moved.Drifts
	}
	return out
}

// note records what follows if the node cannot be read. A message about something that fills in later names the whole
// path; one about a mistake names the part that does not exist.
func (a *analyzer) note(id int64, waits bool, shown ast.Expr) {
	if old, ok := a.out.reads[id]; ok && (old.Waits || !waits) {
		return
	}
	if waits && a.path != nil {
		shown = a.path
		for _, step := range slices.Backward(PathOf(a.path).Steps) {
			if step.Expr.ID() == id {
				break
			}
			if step.Optional {
				shown = step.Operand // what follows .? need not exist
			}
		}
	}
	text := a.Expr.Source(shown)
	if waits {
		text = a.behindVariable(shown, text)
	}
	a.out.reads[id] = Read{Node: id, Waits: waits, Text: text}
}

// behindVariable is the text of a path that begins with a variable. If the variable stands for a path, that replaces
// it: a message about waiting needs the name of the object.
func (a *analyzer) behindVariable(e ast.Expr, text string) string {
	name, read := PathOf(e).Variable()
	if name == "" {
		return text
	}
	v := a.Names.Variable(name)
	if rest, ok := strings.CutPrefix(text, a.Expr.Source(read)); ok && v != nil && v.StandsFor != "" {
		return v.StandsFor + rest
	}
	return text
}

func (a *analyzer) plainPath() string {
	p := PathOf(a.Expr.Root())
	if root := p.RootName(); len(p.Steps) == 0 || !IsGroup(root) && root != RootParent || p.Steps[0].Name == "" {
		return ""
	}
	if slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Optional || s.Asks || !s.Literal }) {
		return ""
	}
	path := a.behindVariable(a.Expr.Root(), a.Expr.Source(a.Expr.Root()))
	if strings.HasPrefix(path, RootVariables+".") || len(path) > maxPathText {
		return ""
	}
	return path
}

// maxPathText is the longest path that replaces a variable in messages.
const maxPathText = 200

func (a *analyzer) operand(s Step, env bindings) *Origin {
	path, outer := a.path, a.presence
	if a.path == nil {
		a.path = s.Expr
	}
	a.presence = outer || s.Asks
	from := a.walk(s.Operand, env)
	a.path, a.presence = path, outer
	return from
}

// field visits operand.name, in all its spellings.
func (a *analyzer) field(s Step, env bindings) *Origin {
	from := a.operand(s, env)
	soft := s.Asks || s.Optional || a.presence
	if !soft {
		a.notePast(s.Expr, from)
	}
	value, missing := a.member(s.Expr, from, s.Name, soft)
	switch {
	case s.Asks && missing.Waits:
		a.out.Absent[s.Expr.ID()] = PathOf(s.Operand).Nodes()
		return fixed()
	case s.Asks:
		return fixed()
	case !s.Optional:
		a.note(s.Expr.ID(), missing.Waits, s.Expr)
	}
	return value
}

// item visits operand[index] with a number or a computed index.
func (a *analyzer) item(s Step, env bindings) *Origin {
	at := a.value(s.Index, env)
	from := a.operand(s, env)
	if IsGroup(from.Root) {
		a.report(s.Expr, diagnostic.CodeNoMember, "%s must be followed by a name that is written out, as in %s.%s", from.Root, from.Root, a.exampleMember(from.Root))
		return fixed()
	}
	a.noteWhole(from) // the index may name any member
	if !s.Optional && !a.presence {
		a.notePast(s.Expr, from)
	}
	missing, value := from.Waits, &Origin{Waits: from.Waits, Drifts: from.Moves()}
	if from.complete {
		missing, value = false, later()
	}
	for _, f := range from.Fields {
		value = Join(value, f)
	}
	if at.Moves() {
		value = Join(value, at)
	}
	if !s.Optional {
		a.note(s.Expr.ID(), missing, s.Expr)
	}
	return value
}

func (a *analyzer) mapLiteral(e ast.Expr, env bindings) *Origin {
	out := &Origin{Fields: map[string]*Origin{}}
	static := true
	for _, entry := range e.AsMap().Entries() {
		m := entry.AsMapEntry()
		key := a.value(m.Key(), env)
		value := a.value(m.Value(), env)
		out.Waits = out.Waits || value.Waits
		out.Drifts = out.Drifts || key.Moves() || value.Moves()
		if name, ok := LiteralText(m.Key()); ok {
			out.Fields[name] = value
		} else {
			static = false
		}
	}
	if !static {
		out.Fields = nil
	}
	return out
}

// comprehension follows the loop variables to the range, and the result to everything that it is made of.
func (a *analyzer) comprehension(c ast.ComprehensionExpr, env bindings) *Origin {
	over := a.value(c.IterRange(), env)
	item := &Origin{Waits: over.Waits, Drifts: over.Moves()}
	start := a.walk(c.AccuInit(), env)
	inner := env.With(map[string]*Origin{c.IterVar(): item, c.IterVar2(): item, c.AccuVar(): start})
	a.walk(c.LoopCondition(), inner)
	step := a.walk(c.LoopStep(), inner)
	result := start
	if step != start {
		result = Join(Join(start, step), item)
		inner = inner.With(map[string]*Origin{c.AccuVar(): result})
		a.walk(c.LoopStep(), inner)
	}
	return a.walk(c.Result(), env.With(map[string]*Origin{c.AccuVar(): result}))
}

// notePast records that something is read of a lookup that may be null.
func (a *analyzer) notePast(e ast.Expr, from *Origin) {
	if from.optional == "" {
		return
	}
	a.out.Nodes = append(a.out.Nodes, Ref{Root: RootLookups, ID: from.optional, Hard: true, Past: true, Pos: a.at(e)})
}

// noteNullTest records a comparison of a lookup with null, which tests whether it exists.
func (a *analyzer) noteNullTest(call ast.CallExpr, operands []*Origin) {
	if fn := call.FunctionName(); fn != operators.Equals && fn != operators.NotEquals {
		return
	}
	for i, arg := range call.Args() {
		if other := operands[1-i]; other.optional != "" && IsNullLiteral(arg) {
			a.out.Nodes = append(a.out.Nodes, Ref{Root: RootLookups, ID: other.optional})
		}
	}
}
