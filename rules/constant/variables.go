package constant

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/yamltree"
)

// Variable is a variable that has the same value in every evaluation.
type Variable struct {
	// Position is that of its value.
	Position diagnostic.Position

	// value is JSON, or the CEL value of a whole expression.
	value any
}

// Variables finds the variables of a scope that are constant; nil for every other name.
type Variables func(name string) *Variable

// relate says where the values of variables are from.
func (v Variables) relate(f *diagnostic.Finding, names []string) {
	for _, name := range names {
		if variable := v(name); variable != nil {
			f.WithRelated(variable.Position, "%s.%s is this", flow.RootVariables, name)
		}
	}
}

// members are Variables as an evaluation reads them.
type members Variables

// Member implements run.Members.
func (m members) Member(name string) (any, bool, error) {
	if variable := m(name); variable != nil {
		return variable.value, true, nil
	}
	return nil, false, nil
}

// Variable is the value of a variable at a node, whose template reads the variables of its own scope; nil if it is not
// constant, or large. One that cannot be rendered is a finding.
func (e *Evaluator) Variable(n *yamltree.Node, t template.Template, vars Variables, place string) *Variable {
	if t == nil || !e.Is(t) {
		return nil
	}
	out := &Variable{Position: e.source.At(n)}
	switch t := t.(type) {
	case template.Const:
		out.value = t.Value
	case template.Expr:
		out.value = e.values[t.X].val
	default:
		e.Try(n, t, vars, place, func(t template.Template, s template.Scope) *template.Problem {
			value, ok, p := s.Session().RenderAside(t, s)
			if ok && p == nil && s.Session().Budget.Memory.Used() <= constantBytes {
				out.value = value
			}
			return p
		})
	}
	if out.value == nil {
		return nil
	}
	return out
}

// readsOf lists the variables that an expression reads. free is true if it reads nothing else, these are constant, and it
// always gives the same value.
func readsOf(x *celenv.Expression, vars Variables) (reads []string, free bool) {
	roots, functions := x.Names()
	isRandom := func(n celenv.Name) bool { return n.Name == function.RandomName }
	isVariables := func(n celenv.Name) bool { return n.Name == flow.RootVariables }
	isOther := func(n celenv.Name) bool { return !isVariables(n) && !x.Env().IsType(n.Name) }
	if slices.ContainsFunc(functions, isRandom) || slices.ContainsFunc(roots, isOther) {
		return nil, false
	}
	if !slices.ContainsFunc(roots, isVariables) {
		return nil, true
	}
	idents, found := 0, sets.New[string]()
	for _, n := range x.Nodes() {
		if n.Kind() == ast.IdentKind && n.AsIdent() == flow.RootVariables {
			idents++
		}
		if n.Kind() != ast.SelectKind {
			continue
		}
		if name := flow.WholeVariable(n); name != "" {
			if vars(name) == nil {
				return nil, false
			}
			found.Insert(name)
			idents--
		}
	}
	return sets.List(found), idents == 0 // otherwise a variable is read by a computed name, or only if it is there
}

// reads lists the variables that the expressions of a constant template read.
func (e *Evaluator) reads(t template.Template) []string {
	found := sets.New[string]()
	for x := range template.Expressions(t) {
		found.Insert(e.values[x].reads...)
	}
	return sets.List(found)
}
