package explain

import (
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Tracer traces rendered fields to their sources in the rule, for one evaluation. It is not safe for concurrent use.
type Tracer struct {
	rule    *syntax.Rule
	program *program.Program
	ev      *program.Evaluation
	// parsed caches parsed expressions, by their text and the names in scope.
	parsed map[string]*celenv.Expression
}

// NewTracer makes a Tracer for a finished evaluation of a rule. compiled is the compiled form of rule.
func NewTracer(rule *syntax.Rule, compiled *program.Program, ev *program.Evaluation) *Tracer {
	ev.Revisit()
	return &Tracer{rule: rule, program: compiled, ev: ev, parsed: map[string]*celenv.Expression{}}
}

// place is a part of a rule, with the scope in which it was evaluated.
type place struct {
	scope program.Scope
	// spec and body are those of the child, lookup or patch; nil outside of them.
	spec *syntax.Body
	body *program.Body
	// dimensions are those of the forEach, which sameAs takes from another child.
	dimensions []syntax.Dimension
	// self is the kind of the object in the variable self; empty if there is none.
	self schema.GroupVersionKind
	// withheld is true within the values of a Secret.
	withheld bool
}

// rulePlace is the place of parts that belong to no child.
func (t *Tracer) rulePlace() place { return place{scope: t.ev.RuleScope()} }

// Child lists the leaves of an object that a child has rendered, and the fields for which the template gave no value.
// ok is false if the child has not rendered the object.
func (t *Tracer) Child(node string, object *unstructured.Unstructured) (fields []Field, ok bool) {
	scope, _, ok := t.ev.ItemScope(node, object)
	if !ok {
		return nil, false
	}
	spec, compiled := t.child(node)
	in := place{scope: scope, spec: &spec.Body, body: &compiled.Body, dimensions: t.dimensionsOf(spec, compiled)}
	w := &walker{Tracer: t, secret: syntax.IsSecret(compiled.GVK)}
	w.walk(spec.Template, compiled.Template, object.Object, nil, in)
	return w.fields, true
}

// child is a child of the rule, as written and as compiled.
func (t *Tracer) child(id string) (*syntax.Child, *program.Child) {
	i := t.program.ByID[id]
	for j := range t.rule.Children {
		if t.rule.Children[j].ID == id {
			return &t.rule.Children[j], t.program.Children[i]
		}
	}
	return nil, t.program.Children[i]
}

// dimensionsOf are the forEach dimensions of a child, or of the child that it takes them from by sameAs.
func (t *Tracer) dimensionsOf(spec *syntax.Child, compiled *program.Child) []syntax.Dimension {
	if spec.SameAs == nil {
		return spec.ForEach
	}
	root, _ := t.child(t.program.Children[compiled.Root].ID)
	return root.ForEach
}

// Patched is what one item of a patch sets.
type Patched struct {
	Patch  string
	Target program.Target
	Object *unstructured.Unstructured
	Fields []Field
}

// Patches lists what the rule's patches set.
func (t *Tracer) Patches() []Patched {
	var all []Patched
	for i := range t.rule.Patches {
		spec := &t.rule.Patches[i]
		at := slices.IndexFunc(t.program.Patches, func(p *program.Patch) bool { return p.ID == spec.ID })
		if at < 0 {
			continue
		}
		compiled := t.program.Patches[at]
		for _, item := range t.ev.PatchedItems(compiled) {
			if item.Object == nil {
				continue
			}
			in := place{scope: item.Scope, spec: &spec.Body, body: &compiled.Body, dimensions: spec.ForEach}
			w := &walker{Tracer: t, secret: syntax.IsSecret(compiled.GVK)}
			w.walk(spec.Template, compiled.Template, item.Object.Object, nil, in)
			all = append(all, Patched{Patch: spec.ID, Target: item.Target, Object: item.Object, Fields: w.fields})
		}
	}
	return all
}

// Status lists the leaves of a rendered status.
func (t *Tracer) Status(status map[string]any) []Field {
	if t.rule.Status == nil {
		return nil
	}
	w := &walker{Tracer: t}
	w.walk(t.rule.Status, t.program.Status, status, Path{named("status")}, t.rulePlace())
	return w.fields
}

// Conditions lists the fields of the rule's own conditions. at returns the index of a condition type in the live
// status; types with a negative index are left out.
func (t *Tracer) Conditions(rendered []program.Condition, at func(conditionType string) int) []Field {
	w := &walker{Tracer: t}
	for i, spec := range t.rule.Conditions {
		if i >= len(rendered) || i >= len(t.program.Conditions) || rendered[i].Keep || at(rendered[i].Type) < 0 {
			continue
		}
		compiled, base := t.program.Conditions[i], Path{named("status"), named("conditions"), {Index: at(rendered[i].Type), Keys: map[string]string{"type": rendered[i].Type}}}
		for _, part := range []struct {
			name     string
			node     *yamltree.Node
			template program.Template
			value    any
		}{
			{"status", spec.Status, compiled.Status, rendered[i].Status},
			{"reason", spec.Reason, compiled.Reason, rendered[i].Reason},
			{"message", spec.Message, compiled.Message, rendered[i].Message},
		} {
			if part.template != nil && part.node != nil {
				w.walk(part.node, part.template, part.value, base.then(named(part.name)), t.rulePlace())
			}
		}
	}
	return w.fields
}

// names are the root names that an expression at a place can use.
func (in place) names() celenv.Scope {
	names := rootNames()
	if in.body != nil {
		for _, d := range in.body.ForEach {
			names = append(names, d.Name)
		}
	}
	return names
}

// rootNames are the root names that some expression of a rule can use.
func rootNames() celenv.Scope {
	return celenv.Scope{
		flow.RootParent, flow.RootChildren, flow.RootLookups, flow.RootObserved, flow.RootEach, flow.RootVariables, flow.RootSelf, flow.RootStatus,
		flow.RootNow, flow.RootFinalizing,
	}
}

// kindOf is the kind of the objects under a root and its member; empty if there is none.
func (t *Tracer) kindOf(root, member string, in place) schema.GroupVersionKind {
	switch root {
	case flow.RootSelf:
		return in.self
	case flow.RootParent:
		return t.program.Parent.GVK
	case flow.RootChildren, flow.RootObserved, flow.RootEach:
		if i, ok := t.program.ByID[member]; ok {
			return t.program.Children[i].GVK
		}
	case flow.RootLookups:
		if l := t.program.LookupByID[member]; l != nil {
			return l.GVK
		}
	}
	return schema.GroupVersionKind{}
}

// refOf is a reference to the object that a value is; nil for any other value.
func refOf(value any) *mark.Ref {
	content, isMap := value.(map[string]any)
	if !isMap {
		return nil
	}
	u := &unstructured.Unstructured{Object: content}
	if u.GetKind() == "" || u.GetAPIVersion() == "" || u.GetName() == "" {
		return nil
	}
	ref := mark.RefOf(u)
	ref.UID = ""
	return &ref
}

// span is the position of a node in the rule, and its length on that line.
func (t *Tracer) span(n *yamltree.Node) *Source {
	source := t.rule.Source
	s := &Source{Position: source.At(n)}
	if s.Line == 0 {
		s.Text = n.Raw()
		return s
	}
	if s.Length = source.SpanAt(s.Position); s.Length == 0 && n.Kind == yamltree.Scalar { // on several lines
		if first := source.Within(n, 0); first.Line > s.Line {
			s.Position = first // a block of text
		}
		line := strings.TrimRight(source.ShownAt(s.Position), " \t")
		s.Length = max(0, utf8.RuneCountInString(line)-s.Column+1)
	}
	s.Text = source.ShownAt(s.Position)
	return s
}
