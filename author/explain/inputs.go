package explain

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// seen are the variables, items and lookups that have already been explained as the source of an input.
type seen map[string]bool

func (s seen) isNew(key string) bool {
	was := s[key]
	s[key] = true
	return !was
}

// sourceOf is the source of the value that a part of a template renders. Its inputs are those of all expressions in the
// part.
func (t *Tracer) sourceOf(n *yamltree.Node, part program.Template, in place, known seen) *Source {
	if known == nil {
		known = seen{}
	}
	s := t.span(n)
	switch part := part.(type) {
	case program.Expr:
		s.Expression = part.X.Text
	case program.Text:
		text, _ := n.Text()
		s.Expression = strings.TrimRight(text, "\n")
	}
	paths := map[string]bool{}
	for x := range program.Expressions(part) {
		for _, input := range t.inputs(x, in, known) {
			if !paths[input.Path] {
				paths[input.Path] = true
				s.Inputs = append(s.Inputs, input)
			}
		}
	}
	if in.withheld {
		return s.withheld()
	}
	return s
}

// parse parses and checks an expression of the rule without the rule's types. It returns nil if that fails.
func (t *Tracer) parse(text string, in place) *celenv.Expression {
	names := in.names()
	key := strings.Join(names, ",") + "\n" + text
	if x, ok := t.parsed[key]; ok {
		return x
	}
	var x *celenv.Expression
	if env, err := celenv.Shared(); err == nil {
		x, _ = env.Compile(text, names)
	}
	t.parsed[key] = x
	return x
}

// inputs are the reads of an expression, in the order of its text.
func (t *Tracer) inputs(x *program.Expression, in place, known seen) []Input {
	expr := t.parse(x.Text, in)
	if expr == nil { // the reads are unknown
		return []Input{{Path: x.Text, Hidden: t.program.HasSecrets}}
	}
	var inputs []Input
	for _, e := range reads(expr, in.names()) {
		inputs = append(inputs, t.input(expr, e, in, known))
	}
	return inputs
}

// reads are the longest paths that an expression reads from its names. If a key in a path is known only inside a loop,
// the path ends before the key.
func reads(expr *celenv.Expression, names celenv.Scope) []ast.Expr {
	r := &reader{names: names}
	celenv.Walk(expr.Root(), nil, r.visit)
	slices.SortStableFunc(r.found, func(a, b ast.Expr) int { return expr.Offset(rootOf(a).ID()) - expr.Offset(rootOf(b).ID()) })
	return r.found
}

func rootOf(e ast.Expr) ast.Expr {
	for {
		step, ok := flow.StepOf(e)
		if !ok {
			return e
		}
		e = step.Operand
	}
}

type reader struct {
	names celenv.Scope
	found []ast.Expr
}

// visit collects the reads in e. bound are the names that surrounding loops declare.
func (r *reader) visit(e ast.Expr, bound []string) bool {
	if !r.isName(flow.PathOf(e).RootName(), bound) {
		return true
	}
	r.path(e, bound)
	return false
}

func (r *reader) isName(name string, bound []string) bool {
	return name != "" && slices.Contains(r.names, name) && !slices.Contains(bound, name)
}

// path records a path, up to the first key that is known only inside a loop.
func (r *reader) path(e ast.Expr, bound []string) {
	longest := e
	for at := e; ; {
		step, ok := flow.StepOf(at)
		if !ok {
			break
		}
		if step.Index != nil && !step.Literal {
			celenv.Walk(step.Index, bound, r.visit)
			if mentions(step.Index, bound) {
				longest = step.Operand
			}
		}
		at = step.Operand
	}
	r.found = append(r.found, longest)
}

func mentions(e ast.Expr, names []string) bool {
	for below := range celenv.All(e) {
		if below.Kind() == ast.IdentKind && slices.Contains(names, below.AsIdent()) {
			return true
		}
	}
	return false
}

// input evaluates one read.
func (t *Tracer) input(expr *celenv.Expression, e ast.Expr, in place, known seen) Input {
	path := flow.PathOf(e)
	root := path.RootName()
	member := ""
	if flow.IsGroup(root) && len(path.Steps) > 0 {
		member = path.Steps[0].Name
	}
	input := Input{Path: expr.Source(e)}
	input.Object = t.objectOf(expr, path, in)
	t.follow(&input, path, member, in, known)
	isSecret := syntax.IsSecret(t.kindOf(root, member, in)) && readsValues(path)
	input.Hidden = in.withheld || isSecret || input.Source.readsHidden()
	val, problem := t.evaluate(expr, e, in)
	if asks := len(path.Steps) > 0 && path.Steps[len(path.Steps)-1].Asks; asks && problem != nil && problem.Verdict != program.Waits {
		val, problem = false, nil // a step before the last does not exist
	}
	switch {
	case problem != nil && problem.Verdict == program.Waits:
		input.Waits = problem.Message
	case problem != nil || val == nil:
		input.Absent = true
	case input.Hidden || refOf(val) != nil:
	default:
		input.Value = val
	}
	return input
}

// follow sets the source of a variable, an item or the name of a lookup, unless it has already been explained.
func (t *Tracer) follow(input *Input, path flow.Path, member string, in place, known seen) {
	root := path.RootName()
	switch {
	case root == flow.RootVariables:
		n, value, from, ok := t.variable(member, in)
		if !ok {
			return
		}
		for _, step := range path.Steps[1:] {
			inner, part, more := below(n, value, step)
			if !more {
				break
			}
			n, value = inner, part
		}
		if from.withheld = in.withheld; known.isNew(t.rule.Source.At(n).String()) {
			input.Source = t.sourceOf(n, value, from, known)
		}
	case root == flow.RootLookups:
		if known.isNew(root + "." + member) {
			input.Source = t.lookup(member, known)
		}
	case in.body != nil:
		for i, d := range in.dimensions {
			if d.Name == root && i < len(in.body.ForEach) && d.In != nil && known.isNew(root) {
				input.Source = t.sourceOf(d.In, in.body.ForEach[i].In, in, known)
			}
		}
	}
}

// lookup is the place where the rule names the object of a lookup.
func (t *Tracer) lookup(id string, known seen) *Source {
	for i := range t.rule.Lookups {
		spec := &t.rule.Lookups[i]
		compiled := t.program.LookupByID[id]
		if spec.ID != id || compiled == nil {
			continue
		}
		if spec.Name == nil || len(spec.ForEach) > 0 {
			return &Source{Position: spec.Pos, Text: t.rule.Source.ShownAt(spec.Pos)}
		}
		in := t.rulePlace()
		in.spec, in.body = &spec.Body, &compiled.Body
		return t.sourceOf(spec.Name, compiled.NameFrom, in, known)
	}
	return nil
}

// objectOf is the object that a path reads from; nil if there is none.
func (t *Tracer) objectOf(expr *celenv.Expression, path flow.Path, in place) *mark.Ref {
	if path.RootName() == flow.RootVariables {
		return nil
	}
	var at []ast.Expr
	if !flow.IsGroup(path.RootName()) {
		if len(path.Steps) > 0 {
			at = append(at, rootOf(path.Steps[0].Expr))
		}
	}
	for i := range min(len(path.Steps), 2) {
		at = append(at, path.Steps[i].Expr)
	}
	for _, e := range at {
		if val, p := t.evaluate(expr, e, in); p == nil {
			if ref := refOf(val); ref != nil {
				return ref
			}
		}
	}
	return nil
}

// evaluate is the JSON value of a part of an expression; nil if it has none.
func (t *Tracer) evaluate(expr *celenv.Expression, e ast.Expr, in place) (any, *program.Problem) {
	part := expr.Part(e)
	planned, issues := celenv.NewProgram(part, celenv.Options{})
	if len(issues) > 0 {
		return nil, program.Failure("%s", issues[0].Message)
	}
	x := &program.Expression{Program: planned, Text: expr.Source(e)}
	val, p := x.Eval(in.scope)
	if p != nil {
		return nil, p
	}
	plain, err := celenv.ToJSON(val)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // optional.none(), or a value that JSON does not have
	}
	return plain, nil
}

func sortedNames[V any](fields map[string]V) []string { return slices.Sorted(maps.Keys(fields)) }
