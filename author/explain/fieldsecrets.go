package explain

import (
	"slices"

	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/yamltree"
)

// hiddenText replaces hidden values.
const hiddenText = "(hidden)"

// holdsValues reports whether a path of a Secret is below data or stringData.
func holdsValues(p Path) bool {
	return len(p) > 0 && (p[0].Name == "data" || p[0].Name == "stringData")
}

// readsValues reports whether a read from a Secret can return secret values. It can, unless it reads metadata, the
// kind, other fields without values, or whether something exists.
func readsValues(path flow.Path) bool {
	steps := path.Steps
	if flow.IsGroup(path.RootName()) && len(steps) > 0 {
		steps = steps[1:]
	}
	if len(steps) > 0 && steps[len(steps)-1].Asks {
		return false
	}
	if len(steps) > 0 && steps[0].Index != nil && !steps[0].Literal {
		steps = steps[1:] // the index of a list
	}
	return len(steps) == 0 || !slices.Contains([]string{"metadata", "apiVersion", "kind", "type", "immutable"}, steps[0].Name)
}

// readsHidden reports whether any input is hidden.
func (s *Source) readsHidden() bool {
	return s != nil && slices.ContainsFunc(s.Inputs, func(i Input) bool { return i.Hidden })
}

// ReadsSecrets reports whether a template that is not part of the rule reads values of a Secret. scope is the scope of
// the child, or of the rule if child is empty.
func (t *Tracer) ReadsSecrets(part program.Template, scope program.Scope, child string) bool {
	in := place{scope: scope}
	if i, ok := t.program.ByID[child]; ok && child != "" {
		spec, compiled := t.child(child)
		in = place{scope: scope, spec: &spec.Body, body: &compiled.Body, dimensions: t.dimensionsOf(spec, compiled), self: t.program.Children[i].GVK}
	}
	_, node := yamltree.NewText("", "")
	return t.sourceOf(node, part, in, nil).readsHidden()
}

// withheld is the source of a Secret's value, without its text, which may contain the value, and without the values of
// its inputs.
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
