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

// Names tells what the names in an expression stand for.
type Names interface {
	// Origin is that of a value of forEach, of self or of status; nil for every other name.
	Origin(name string) *Origin
	// Variable and Lookup are nil if there is none of that name.
	Variable(name string) *Variable
	Lookup(id string) *Lookup
	// Members lists the names that can follow a root, for hints.
	Members(root string) []string
	// RandomHint is how a value that random makes is kept.
	RandomHint() string
}

// Variable is what is known of a variable that was compiled.
type Variable struct {
	// Origin is nil if that is not known.
	Origin *Origin
	Uses   *Uses
	// Local is true for a variable of a child, a lookup or a patch.
	Local bool
	// StandsFor is the path that the variable stands for, if that is all it is; see Analysis.Path.
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
	// Roots are the names that an expression may start with. OpenNames is true if there are more
	// than could be read.
	Roots     []string
	OpenNames bool
	// AllowChildren is false where children cannot be read.
	AllowChildren bool
	// MayMove is true for a variable: only that may have a value that changes with the clock.
	MayMove bool
	// Rendered is true for a template: what is in it may change with the clock if
	// spec.requeueAfter sets how often it is rendered.
	Rendered bool
	// Random is true where random can be called, and OwnRandom where it can be in the variables
	// of the child.
	Random, OwnRandom bool
	// Own is the child whose template, or variable, is compiled, where random can be the default
	// of a field of its own observed object. OwnGenerated is the child whose variables may be such
	// a default.
	Own, OwnGenerated string
	// Family are the children whose items are paired with the one that is compiled: what each can
	// be followed by.
	Family []string
	// Child is the child whose live object self is. It is empty if there is no self.
	Child string
	// OpenVariables is true if there are more variables than could be read.
	OpenVariables bool
}

// Report reports something at an offset in an expression.
type Report func(offset int, code diagnostic.Code, format string, args ...any) *diagnostic.Finding

// Input is an expression, which CEL's checker has passed, and what is known around it.
type Input struct {
	Expr     *celenv.Expression
	Rule     *syntax.Rule
	Children map[string]*syntax.Child
	Scope    Scope
	Names    Names
	Report   Report
	// Position is the place of an offset in the expression.
	Position func(offset int) diagnostic.Position
}

// Read is a field or an index that an expression reads, and what follows if it does not exist.
type Read struct {
	Node  int64
	Waits bool
	// Text is the read as CEL writes it.
	Text string
}

// Analysis is what an expression reads, and where its value comes from.
type Analysis struct {
	Uses
	Origin *Origin
	// Live are the children whose live object is read.
	Live map[string]bool
	// Absent are, for a node has(path) whose path may fill in later, the nodes of the path.
	Absent map[int64][]int64
	// Moving are the nodes that note when their value changes, with the speeds of their operands.
	Moving map[int64][]int
	// CallsRandom is true if the value is random. Generates is true if random is the default of a
	// field of the child's own observed object.
	CallsRandom, Generates bool
	// Drifts is true if a value that is rendered changes with the clock.
	Drifts bool
	// Path is the text of an expression that is a path into an object of the cluster, without a
	// question mark and without a computed key. It is empty for every other expression.
	Path string

	in    Input
	reads map[int64]Read
	// reported keeps a finding from being reported twice if the body of a loop is walked over a
	// second time.
	reported map[int64]bool
}

// Analyze finds out what an expression reads, and reports what it may not.
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

// Reads are the reads in the order of their nodes.
func (a *Analysis) Reads() []Read {
	return slices.SortedFunc(maps.Values(a.reads), func(x, y Read) int { return cmp.Compare(x.Node, y.Node) })
}

// Fails reports whether the expression fails, and does not wait, if a read finds nothing.
func (a *Analysis) Fails(id int64) bool {
	r, ok := a.reads[id]
	return ok && !r.Waits
}

// ReportNode reports something about a node, and about a name in it if that is not empty. There is
// one finding for a node.
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

// analyzer walks over one expression.
type analyzer struct {
	Input
	out *Analysis
	// driftsAt is where a value first changes with the clock in a way that is not followed.
	driftsAt ast.Expr
	// presence is true below has(), where nothing is read for its value.
	presence bool
	// path is the outermost node of the path that is being walked over: what a message names if a
	// part of the path does not exist yet.
	path ast.Expr
}

// bindings are the origins of the names that the expression itself declares.
type bindings = celenv.Bindings[*Origin]

func (a *analyzer) at(e ast.Expr) diagnostic.Position { return a.Position(a.Expr.Offset(e.ID())) }

func (a *analyzer) report(e ast.Expr, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return a.out.ReportNode(e.ID(), "", code, format, args...)
}

// value is the origin of a node that is used for its value.
func (a *analyzer) value(e ast.Expr, env bindings) *Origin {
	outer, presence := a.path, a.presence
	a.path, a.presence = nil, false
	o := a.walk(e, env)
	a.path, a.presence = outer, presence
	if IsGroup(o.Root) {
		a.report(e, diagnostic.CodeNoMember, "%s must be followed by a name, as in %s.%s", o.Root, o.Root, a.exampleMember(o.Root))
		return fixed()
	}
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

// note keeps what follows when the node cannot be read. A message about
// something that is to come names the whole path, one about a mistake the part
// of it that is not there.
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

// behindVariable is the text of a path that begins with a variable, with what the variable stands
// for in its place where that is a path too: who waits needs the name of the object.
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

// plainPath is the text of an expression that is a path into an object of the cluster, without a
// question mark and without a computed key; empty for every other.
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

// maxPathText is how long a path may be that messages show in the place of a variable.
const maxPathText = 200

// operand walks over what a step is read from.
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

// field is operand.name, in all its spellings.
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

// item is operand[index] with an index that is computed, or a number.
func (a *analyzer) item(s Step, env bindings) *Origin {
	at := a.value(s.Index, env)
	from := a.operand(s, env)
	if IsGroup(from.Root) {
		a.report(s.Expr, diagnostic.CodeNoMember, "%s must be followed by a name that is written out, as in %s.%s", from.Root, from.Root, a.exampleMember(from.Root))
		return fixed()
	}
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

// comprehension follows the loop variables to the range and what the loop
// gives to all that goes into it.
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

// notePast notes that something is read of a lookup that may be null.
func (a *analyzer) notePast(e ast.Expr, from *Origin) {
	if from.optional == "" {
		return
	}
	a.out.Nodes = append(a.out.Nodes, Ref{Root: RootLookups, ID: from.optional, Hard: true, Past: true, Pos: a.at(e)})
}

// noteNullTest notes a comparison of a lookup with null, which asks whether it is
// there.
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
