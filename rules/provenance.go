package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/yamltree"
)

// origin says where a value comes from, and so what it means when something
// is missing in it.
type origin struct {
	// waits is true for what fills in later: children, lookups, what is observed,
	// self, the parent's status.
	waits bool
	// complete is true for the list of a child or a lookup, which has all its
	// items or is not there at all.
	complete bool
	// root names a value of which the members have origins of their own.
	root string
	// optional is the lookup that the value is, where that can be null.
	optional string
	// fields are the origins of the fields of a mapping in a template.
	fields map[string]*origin
	// speed and drifts say how the value goes with the clock (now.go): by how many
	// seconds it grows in a second, or that it changes in a way that is not followed.
	speed  int
	drifts bool
	// typ is what is known of the value, where the origin is that of a name or of
	// a part of a template.
	typ check.Type
	// holds are, of a variable, the paths that are there where it is true.
	holds map[string]bool
}

func fixed() *origin { return &origin{} }
func later() *origin { return &origin{waits: true} }

// join is the origin of a value that comes from either.
func join(a, b *origin) *origin {
	switch {
	case a == b || b == nil:
		return a
	case a == nil:
		return b
	}
	return &origin{waits: a.waits || b.waits, drifts: a.moves() || b.moves()}
}

// analysis walks over one expression and finds out what it reads.
type analysis struct {
	c     *compiler
	scope *compileScope
	expr  *celenv.Expression
	// node is the scalar in which the expression stands.
	node *yamltree.Node
	// at maps a node to its place in the source, and within an offset in the
	// expression.
	at     func(id int64) diagnostic.Position
	within func(offset int) diagnostic.Position

	uses   flow.Uses
	reads  map[int64]read
	absent map[int64][]int64
	// moving are the nodes that note when their value changes, and driftsAt is
	// where a value first goes with the clock in a way that is not followed.
	moving   map[int64][]int
	driftsAt ast.Expr
	// presence is true below has(), where nothing is read for its value.
	presence bool
	// random is true where the value is made at random, as far as it was walked.
	random bool
	// generated is true where random is the default of a field of the child's own observed
	// object.
	generated bool
	// path is the outermost node of the path that is being walked over: what a
	// message names when a part of the path is not there yet.
	path ast.Expr
	// reported keeps a finding from being given again when a loop's body is
	// walked over a second time.
	reported map[int64]bool
}

// bindings are the names that the expression itself declares.
type bindings map[string]*origin

func (b bindings) with(names map[string]*origin) bindings {
	out := make(bindings, len(b)+len(names))
	maps.Copy(out, b)
	for k, v := range names {
		if k != "" {
			out[k] = v
		}
	}
	return out
}

func (a *analysis) report(id int64, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return a.reportName(id, "", code, format, args...)
}

// reportName reports something about a node, and about a name in it if that is not empty.
func (a *analysis) reportName(id int64, name string, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	if a.reported[id] {
		return &diagnostic.Finding{} // that is kept nowhere
	}
	a.reported[id] = true
	f := a.c.report(a.at(id), code, format, args...)
	if name != "" {
		f.Position = a.within(flow.NameOffset(a.expr.Text(), a.expr.Offset(id), name))
	}
	return f
}

// fails reports whether the expression fails, and does not wait, if a read finds nothing.
func (a *analysis) fails(id int64) bool {
	r, ok := a.reads[id]
	return ok && !r.waits
}

// value is the origin of a node that is used for its value.
func (a *analysis) value(e ast.Expr, env bindings) *origin {
	outer, presence := a.path, a.presence
	a.path, a.presence = nil, false
	o := a.walk(e, env)
	a.path, a.presence = outer, presence
	if flow.IsGroup(o.root) {
		a.report(e.ID(), diagnostic.CodeNoMember, "%s must be followed by a name, as in %s.%s", o.root, o.root, a.exampleMember(o.root))
		return fixed()
	}
	return o
}

func (a *analysis) walk(e ast.Expr, env bindings) *origin {
	switch e.Kind() {
	case ast.IdentKind:
		return a.ident(e, env)
	case ast.SelectKind:
		sel := e.AsSelect()
		return a.selectField(e, sel.Operand(), sel.FieldName(), env, sel.IsTestOnly(), false)
	case ast.CallKind:
		return a.call(e, env)
	case ast.ComprehensionKind:
		return a.comprehension(e.AsComprehension(), env)
	case ast.MapKind:
		return a.mapLiteral(e, env)
	default:
		out := fixed()
		for _, o := range celenv.Operands(e) {
			out = join(out, a.value(o, env))
		}
		return out
	}
}

func (a *analysis) call(e ast.Expr, env bindings) *origin {
	call := e.AsCall()
	args := call.Args()
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		optional := call.FunctionName() != operators.Index
		if name, ok := flow.LiteralText(args[1]); ok {
			return a.selectField(e, args[0], name, env, false, optional)
		}
		return a.index(e, args[0], args[1], env, optional)
	case operators.Conditional:
		condition := a.value(args[0], env)
		return a.conditional(e, condition, a.walk(args[1], env), a.walk(args[2], env))
	}
	out := fixed()
	var operands []*origin
	for _, o := range celenv.Operands(e) {
		operands = append(operands, a.value(o, env))
		out.waits = out.waits || operands[len(operands)-1].waits
	}
	a.noteNullTest(call, operands)
	a.noteRandom(e)
	if call.FunctionName() == "value" && call.IsMemberFunction() {
		a.note(e.ID(), out.waits, call.Target())
	}
	if moved := a.clockedCall(e, operands); moved != nil {
		out.speed, out.drifts = moved.speed, moved.drifts
	}
	return out
}

// note keeps what follows when the node cannot be read. A message about
// something that is to come names the whole path, one about a mistake the part
// of it that is not there.
func (a *analysis) note(id int64, waits bool, shown ast.Expr) {
	if old, ok := a.reads[id]; ok && (old.waits || !waits) {
		return
	}
	if waits && a.path != nil {
		shown = a.path
		for _, step := range slices.Backward(flow.PathOf(a.path).Steps) {
			if step.Expr.ID() == id {
				break
			}
			if step.Optional {
				shown = step.Operand // what follows .? need not exist
			}
		}
	}
	text := a.expr.Source(shown)
	if waits {
		text = a.behindVariable(shown, text)
	}
	a.reads[id] = read{node: id, waits: waits, text: text}
}

// behindVariable is the text of a path that begins with a variable, with what the variable stands
// for in its place where that is a path too: who waits needs the name of the object.
func (a *analysis) behindVariable(e ast.Expr, text string) string {
	name, read := flow.PathOf(e).Variable()
	if name == "" {
		return text
	}
	v := a.c.variable(a.scope, name)
	if rest, ok := strings.CutPrefix(text, a.expr.Source(read)); ok && v != nil && v.standsFor != "" {
		return v.standsFor + rest
	}
	return text
}

// plainPath is the text of an expression that is a path into an object of the cluster, without a
// question mark and without a computed key; empty for every other.
func (a *analysis) plainPath() string {
	p := flow.PathOf(a.expr.Root())
	if root := p.RootName(); len(p.Steps) == 0 || !flow.IsGroup(root) && root != flow.RootParent || p.Steps[0].Name == "" {
		return ""
	}
	if slices.ContainsFunc(p.Steps, func(s flow.Step) bool { return s.Optional || s.Asks || !s.Literal }) {
		return ""
	}
	path := a.behindVariable(a.expr.Root(), a.expr.Source(a.expr.Root()))
	if strings.HasPrefix(path, flow.RootVariables+".") || len(path) > maxPathText {
		return ""
	}
	return path
}

// maxPathText is how long a path may be that messages show in the place of a variable.
const maxPathText = 200

// operand walks over what a field or index is read from.
func (a *analysis) operand(e, operand ast.Expr, env bindings, presence bool) *origin {
	path, outer := a.path, a.presence
	if a.path == nil {
		a.path = e
	}
	a.presence = outer || presence
	from := a.walk(operand, env)
	a.path, a.presence = path, outer
	return from
}

// selectField is operand.name, in all its spellings.
func (a *analysis) selectField(e, operand ast.Expr, name string, env bindings, presence, optional bool) *origin {
	from := a.operand(e, operand, env, presence)
	soft := presence || optional || a.presence
	if !soft {
		a.notePast(e, from)
	}
	value, missing := a.member(e, from, name, soft)
	if presence {
		if missing.waits {
			a.absent[e.ID()] = flow.PathOf(operand).Nodes()
		}
		return fixed()
	}
	if !optional {
		a.note(e.ID(), missing.waits, e)
	}
	return value
}

// index is operand[index] with an index that is computed, or a number.
func (a *analysis) index(e, operand, index ast.Expr, env bindings, optional bool) *origin {
	at := a.value(index, env)
	from := a.operand(e, operand, env, false)
	if flow.IsGroup(from.root) {
		a.report(e.ID(), diagnostic.CodeNoMember, "%s must be followed by a name that is written out, as in %s.%s", from.root, from.root, a.exampleMember(from.root))
		return fixed()
	}
	if !optional && !a.presence {
		a.notePast(e, from)
	}
	missing, value := from.waits, &origin{waits: from.waits, drifts: from.moves()}
	if from.complete {
		missing, value = false, later()
	}
	if from.fields != nil {
		for _, f := range from.fields {
			value = join(value, f)
		}
	}
	if at.moves() {
		value = join(value, at)
	}
	if !optional {
		a.note(e.ID(), missing, e)
	}
	return value
}

func (a *analysis) mapLiteral(e ast.Expr, env bindings) *origin {
	out := &origin{fields: map[string]*origin{}}
	static := true
	for _, entry := range e.AsMap().Entries() {
		m := entry.AsMapEntry()
		key := a.value(m.Key(), env)
		value := a.value(m.Value(), env)
		out.waits = out.waits || value.waits
		out.drifts = out.drifts || key.moves() || value.moves()
		if name, ok := flow.LiteralText(m.Key()); ok {
			out.fields[name] = value
		} else {
			static = false
		}
	}
	if !static {
		out.fields = nil
	}
	return out
}

// comprehension follows the loop variables to the range and what the loop
// gives to all that goes into it.
func (a *analysis) comprehension(c ast.ComprehensionExpr, env bindings) *origin {
	over := a.value(c.IterRange(), env)
	item := &origin{waits: over.waits, drifts: over.moves()}
	start := a.walk(c.AccuInit(), env)
	inner := env.with(map[string]*origin{c.IterVar(): item, c.IterVar2(): item, c.AccuVar(): start})
	a.walk(c.LoopCondition(), inner)
	step := a.walk(c.LoopStep(), inner)
	result := start
	if step != start {
		result = join(join(start, step), item)
		inner = inner.with(map[string]*origin{c.AccuVar(): result})
		a.walk(c.LoopStep(), inner)
	}
	return a.walk(c.Result(), env.with(map[string]*origin{c.AccuVar(): result}))
}

// sortedReads are the reads in the order of their nodes.
func (a *analysis) sortedReads() []read {
	out := make([]read, 0, len(a.reads))
	for _, r := range a.reads {
		out = append(out, r)
	}
	slices.SortFunc(out, func(x, y read) int { return cmp.Compare(x.node, y.node) })
	return out
}
