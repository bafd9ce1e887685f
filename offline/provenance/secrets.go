package provenance

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/yamltree"
)

// hiddenText stands in the place of a value that is not shown.
const hiddenText = "(hidden)"

// holdsValues reports whether a field of a Secret has what it keeps.
func holdsValues(p Path) bool {
	return len(p) > 0 && (p[0].Name == "data" || p[0].Name == "stringData")
}

// readsValues reports whether a path into a Secret can read what it keeps: all but its metadata, its kind and whether it exists.
func readsValues(path flow.Path) bool {
	steps := path.Steps
	if flow.IsGroup(path.RootName()) && len(steps) > 0 {
		steps = steps[1:]
	}
	if len(steps) > 0 && steps[len(steps)-1].Asks {
		return false
	}
	if len(steps) > 0 && steps[0].Index != nil && !steps[0].Literal {
		steps = steps[1:] // an item of a list
	}
	return len(steps) == 0 || !slices.Contains([]string{"metadata", "apiVersion", "kind", "type", "immutable"}, steps[0].Name)
}

// readsHidden reports whether a value comes from what is hidden.
func (s *Source) readsHidden() bool {
	return s != nil && slices.ContainsFunc(s.Inputs, func(i Input) bool { return i.Hidden })
}

// ReadsSecrets reports whether a template that is no part of the rule reads what a Secret keeps. scope is that of a child, or that of
// what belongs to none, if child is empty.
func (t *Tracer) ReadsSecrets(part template.Template, scope template.Scope, child string) bool {
	in := place{scope: scope}
	if i, ok := t.program.ByID[child]; ok && child != "" {
		spec, compiled := t.child(child)
		in = place{scope: scope, spec: &spec.Body, body: &compiled.Body, dimensions: t.dimensionsOf(spec, compiled), self: t.program.Children[i].GVK}
	}
	_, node := yamltree.NewText("", "")
	return t.sourceOf(node, part, in, nil).readsHidden()
}

// withheld is the source of what a Secret keeps: without the line, which may be the value, and without the values that it is made of.
func (s *Source) withheld() *Source {
	if s == nil {
		return nil
	}
	out := *s
	out.Text, out.Expression = "", ""
	out.Inputs = slices.Clone(s.Inputs)
	for i := range out.Inputs {
		in := &out.Inputs[i]
		in.Value, in.Hidden, in.Source = nil, true, in.Source.withheld()
	}
	return &out
}

// withoutLiterals are the expressions of a part of a template, without the text that is written out in them.
func (t *Tracer) withoutLiterals(part template.Template, in place) string {
	var texts []string
	for x := range expressions(part) {
		if expr := t.parse(x.Text, in); expr != nil {
			texts = append(texts, withoutText(expr))
		}
	}
	return strings.Join(texts, ", ")
}

// withoutText is an expression without its literals. Of a loop nothing is shown: how it was written is kept apart from its nodes.
func withoutText(expr *celenv.Expression) string {
	for e := range celenv.All(expr.Root()) {
		if e.Kind() == ast.ComprehensionKind {
			return hiddenText
		}
	}
	factory := ast.NewExprFactory()
	root := factory.CopyExpr(expr.Root())
	keys := map[int64]bool{}
	for e := range celenv.All(root) {
		if step, ok := flow.StepOf(e); ok && step.Index != nil {
			keys[step.Index.ID()] = true
		}
		if e.Kind() != ast.LiteralKind || keys[e.ID()] {
			continue
		}
		switch e.AsLiteral().(type) {
		case types.String, types.Bytes:
			e.SetKindCase(factory.NewLiteral(e.ID(), types.String(hiddenText)))
		}
	}
	return expr.Source(root)
}
