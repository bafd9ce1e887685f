package explain

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// walker collects the leaves of one object.
type walker struct {
	*Tracer
	// secret is true for a Secret.
	secret bool
	fields []Field
}

// walk adds the leaves of value, which a part of a template has rendered. n is the node of that part in the rule's
// text: mappings and lists have a node per entry, and the node of an expression covers all leaves below it.
func (w *walker) walk(n *yamltree.Node, t program.Template, value any, at Path, in place) {
	in.withheld = in.withheld || w.secret && holdsValues(at)
	switch t := t.(type) {
	case program.Map:
		w.mapping(n, t, value, at, in)
	case program.List:
		w.list(n, t, value, at, in)
	case program.Const:
		w.literal(n, value, at, in)
	case program.Expr:
		if !w.throughVariable(n, t.X, value, at, in) {
			w.leaves(value, at, in, w.sourceOf(n, t, in, nil))
		}
	default:
		w.leaves(value, at, in, w.sourceOf(n, t, in, nil))
	}
}

func (w *walker) mapping(n *yamltree.Node, t program.Map, value any, at Path, in place) {
	fields, _ := value.(map[string]any)
	for i := range t.Entries {
		name, p := t.Entries[i].KeyOf(in.scope)
		if p != nil {
			continue
		}
		if below, exists := fields[name]; exists {
			w.walk(n.Fields[i].Value, t.Entries[i].Value, below, at.then(named(name)), in)
			continue
		}
		w.absent(n.Fields[i].Value, t.Entries[i].Value, at.then(named(name)), in)
	}
}

// absent adds a field that the template has but the object does not.
func (w *walker) absent(n *yamltree.Node, t program.Template, at Path, in place) {
	if c, ok := t.(program.Const); ok && c.Value == nil {
		return // null leaves the field out on purpose
	}
	f := Field{Path: at, Absent: true, Source: w.sourceOf(n, t, in, nil)}
	if _, _, p := t.Render(in.scope); p != nil {
		f.Problem = p.Text()
	}
	w.fields = append(w.fields, f)
}

func (w *walker) list(n *yamltree.Node, t program.List, value any, at Path, in place) {
	items, _ := value.([]any)
	next := 0
	take := func() (any, Path, bool) {
		if next >= len(items) {
			return nil, nil, false
		}
		item, path := items[next], at.then(itemStep(items, next))
		next++
		return item, path, true
	}
	for i := range t.Items {
		item := &t.Items[i]
		if item.Spread == nil {
			if _, ok, p := item.Value.Render(in.scope); !ok || p != nil {
				continue // optional.none() renders no item
			}
			if below, path, more := take(); more {
				w.walk(n.Items[i], item.Value, below, path, in)
			}
			continue
		}
		whole := program.Expr{X: item.Spread}
		val, _, p := whole.Render(in.scope)
		spliced, _ := val.([]any)
		source := w.sourceOf(n.Items[i], whole, in, nil)
		for range spliced {
			if below, path, more := take(); more && p == nil {
				w.leaves(below, path, in, source)
			}
		}
	}
}

// literal adds the leaves of a part without expressions.
func (w *walker) literal(n *yamltree.Node, value any, at Path, in place) {
	switch {
	case n.Kind == yamltree.Mapping && len(n.Fields) > 0:
		fields, _ := value.(map[string]any)
		for _, f := range n.Fields {
			name := strings.ReplaceAll(f.Name, "$${", "${")
			if below, exists := fields[name]; exists {
				w.walk(f.Value, program.Const{}, below, at.then(named(name)), in)
			}
		}
	case n.Kind == yamltree.Sequence && len(n.Items) > 0:
		items, _ := value.([]any)
		for i, item := range n.Items {
			if i < len(items) {
				w.walk(item, program.Const{}, items[i], at.then(itemStep(items, i)), in)
			}
		}
	default:
		w.leaves(value, at, in, w.sourceOf(n, program.Const{}, in, nil))
	}
}

// leaves adds all leaves of a value that has one source.
func (w *walker) leaves(value any, at Path, in place, source *Source) {
	eachLeaf(value, at, func(at Path, leaf any) {
		withheld := in.withheld || w.secret && holdsValues(at)
		f := Field{Path: at, Value: leaf, raw: leaf, Source: source, Hidden: withheld || source.readsHidden()}
		if f.Hidden {
			f.Value = nil
		}
		if withheld && !in.withheld {
			f.Source = source.withheld()
		}
		w.fields = append(w.fields, f)
	})
}

// throughVariable traces an expression that is a variable or a field of one into the template of the variable, so that
// each leaf has its own source there. It returns false for any other expression.
func (w *walker) throughVariable(n *yamltree.Node, x *program.Expression, value any, at Path, in place) bool {
	expr := w.parse(x.Text, in)
	if expr == nil {
		return false
	}
	path := flow.PathOf(expr.Root())
	name, _ := path.Variable()
	if name == "" {
		return false
	}
	node, t, from, ok := w.variable(name, in)
	if !ok {
		return false
	}
	for _, step := range path.Steps[1:] {
		if node, t, ok = below(node, t, step); !ok {
			return false
		}
	}
	switch t.(type) {
	case program.Map, program.List, program.Const:
	default:
		return false // the source of the whole expression is the same
	}
	if _, isConst := t.(program.Const); isConst && node.Kind == yamltree.Scalar {
		return false
	}
	from.withheld = in.withheld
	inner := &walker{Tracer: w.Tracer, secret: w.secret}
	inner.walk(node, t, value, at, from)
	use := w.sourceOf(n, program.Expr{X: x}, in, nil)
	for _, f := range inner.fields {
		if f.Source != nil {
			outer := *use
			path := expr.Source(expr.Root()) + "." + f.Path[len(at):].String()
			path = strings.TrimSuffix(strings.Replace(path, ".[", "[", 1), ".")
			outer.Inputs = []Input{{Path: path, Value: f.Value, Hidden: f.Hidden, Absent: f.Absent, Source: f.Source}}
			f.Source = &outer
		}
		w.fields = append(w.fields, f)
	}
	return true
}

// below is the part of a template that a step leads to, if the template's text determines it.
func below(n *yamltree.Node, t program.Template, step flow.Step) (*yamltree.Node, program.Template, bool) {
	if !step.Literal || step.Asks {
		return nil, nil, false
	}
	switch t := t.(type) {
	case program.Map:
		i := slices.IndexFunc(t.Entries, func(e program.Entry) bool { return e.Key == nil && e.Name == step.Name })
		if i < 0 || slices.ContainsFunc(t.Entries, func(e program.Entry) bool { return e.Key != nil }) {
			return nil, nil, false
		}
		return n.Fields[i].Value, t.Entries[i].Value, true
	case program.Const:
		value := n.Get(step.Name)
		return value, program.Const{}, value != nil
	default:
		return nil, nil, false
	}
}

// variable is the value of a variable in the rule, as written and as compiled, and its place.
func (t *Tracer) variable(name string, in place) (*yamltree.Node, program.Template, place, bool) {
	find := func(specs []syntax.Variable, compiled map[string]*program.Variable) (*yamltree.Node, program.Template, bool) {
		i := slices.IndexFunc(specs, func(v syntax.Variable) bool { return v.Name == name })
		if i < 0 || compiled[name] == nil || specs[i].Value == nil {
			return nil, nil, false
		}
		return specs[i].Value, compiled[name].Value, true
	}
	if in.body != nil {
		if n, value, ok := find(in.spec.Variables, in.body.Variables); ok {
			return n, value, in, true
		}
	}
	n, value, ok := find(t.rule.Variables, t.program.Variables)
	return n, value, t.rulePlace(), ok
}
