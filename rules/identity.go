package rules

import (
	"slices"
	"strconv"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// checkSameItems reports a forEach whose items would all be the same object. root is the child that has the forEach.
func (c *compiler) checkSameItems(spec, root *syntax.Child) {
	if len(root.ForEach) == 0 || root.Gaps["forEach"] {
		return
	}
	metadata := spec.Template.Get("metadata")
	name := metadata.Get("name")
	for _, n := range []*yamltree.Node{name, metadata.Get("namespace")} {
		text, ok := n.Text()
		switch {
		case n == nil:
		case !ok:
			return // the reason was reported
		case yamltree.HasExpression(text):
			if r, compiled := c.results[n]; !compiled || r.items { // with a mistake, it is not known what it reads
				return
			}
		}
	}
	if name == nil {
		return
	}
	f := c.ReportNode(name, diagnostic.CodeSameItem, "every item of %s is the same object: its name does not depend on %s", spec.Label(), root.ForEach[0].Name)
	c.Relate(f, root.ForEach[0].In, "the items are here").WithHint("make the name different for each item")
}

// atMostOneItem reports whether forEach certainly has at most one item, as in [x] and in cond ? [x] : [].
func (c *compiler) atMostOneItem(spec *syntax.Child) bool {
	return !slices.ContainsFunc(spec.ForEach, func(f syntax.Dimension) bool {
		switch {
		case f.In == nil:
			return false
		case f.In.Kind == yamltree.Mapping:
			return len(f.In.Fields) > 1
		case f.In.Kind == yamltree.Sequence:
			return len(f.In.Items) > 1 || len(f.In.Items) == 1 && yamltree.IsSpread(f.In.Items[0])
		}
		x := c.parsed(f.In)
		return x != nil && !atMostOne(x.Root())
	})
}

func atMostOne(e ast.Expr) bool {
	switch e.Kind() {
	case ast.ListKind:
		return e.AsList().Size() <= 1
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.Conditional {
			return atMostOne(call.Args()[1]) && atMostOne(call.Args()[2])
		}
	default:
	}
	return false
}

// checkSteady reports a name or a namespace that changes with the clock, so that each evaluation would render another
// object.
func (c *compiler) checkSteady(spec *syntax.Child, from *flow.Origin) {
	metadata, n := from.Fields["metadata"], spec.Template.Get("metadata")
	if metadata == nil || n == nil {
		return
	}
	report := func(n *yamltree.Node, what string) {
		c.ReportNode(n, diagnostic.CodeMovingTime, "%s must not change with every second, which would create a new object each time, and this does, because it uses now", what).
			WithHint(`take steps, as in truncate(now, duration("1h"))`)
	}
	if n.Kind != yamltree.Mapping && metadata.Moves() {
		report(n, "metadata")
		return
	}
	for _, name := range []string{"name", "namespace"} {
		if n.Get(name) != nil && metadata.Fields[name].Moves() {
			report(n.Get(name), "metadata."+name)
		}
	}
}

// checkRandomIdentity reports a random name or namespace, with which each evaluation would render another object.
func (c *compiler) checkRandomIdentity(spec *syntax.Child, u *flow.Uses) {
	metadata := spec.Template.Get("metadata")
	for _, n := range []*yamltree.Node{metadata, metadata.Get("name"), metadata.Get("namespace")} {
		if n != nil && slices.Contains(u.Random, n) {
			c.ReportNode(n, diagnostic.CodeRandomIdentity, "%s would create a new object at every evaluation, because its name is random", spec.Label()).
				WithHint("render the name from what is different for each object")
		}
	}
}

func (c *compiler) checkSame(p *program.Program) {
	rule := c.rule
	type identity struct{ group, kind, namespace, name string }
	seen := map[identity]int{}
	for i, child := range p.Children {
		spec := &rule.Children[i]
		metadata := spec.Template.Get("metadata")
		name, ok := metadata.Get("name").Text()
		if !ok || spec.Many() || spec.Gaps["forEach"] || spec.Gaps["when"] || child.GVK.Kind == "" {
			continue
		}
		namespace, _ := metadata.Get("namespace").Text()
		if namespace = flow.SameText(namespace); namespace == "${parent.metadata.namespace}" {
			namespace = "" // the default
		}
		id := identity{child.GVK.Group, child.GVK.Kind, namespace, flow.SameText(name)}
		first, twice := seen[id]
		if !twice {
			seen[id] = i
			continue
		}
		if !exclusive(spec, &rule.Children[first]) {
			c.ReportNode(metadata.Get("name"), diagnostic.CodeSameObject, "%s is the same object as %s: both are %s %s",
				spec.Label(), rule.Children[first].Label(), child.GVK.Kind, strconv.Quote(name)).
				WithRelated(rule.Source.At(rule.Children[first].Template.Get("metadata").Get("name")), "the first one")
		}
	}
}

// exclusive reports whether two children have different conditions, so that one of them may be skipped.
func exclusive(a, b *syntax.Child) bool {
	if a.When == nil || b.When == nil {
		return false
	}
	at, _ := a.When.Text()
	bt, _ := b.When.Text()
	return at != bt
}

// checkRecursion reports a rule whose children are parents of the same rule, so that each would have children again.
func (c *compiler) checkRecursion(p *program.Program) {
	rule := c.rule
	parent := rule.Parent
	bounded := parent.When != nil || parent.Gaps["when"] || parent.Gaps["selector"]
	inNamespaces := len(p.Parent.Namespaces) > 0 || !isUnbounded(p.Parent.NamespaceSelector) ||
		parent.Gaps["namespaces"] || parent.Gaps["namespaceSelector"]
	for i, child := range p.Children {
		spec := &rule.Children[i]
		if bounded || mayEscape(p.Parent.Selector, spec.Template) || spec.When != nil || spec.Gaps["when"] || child.GVK.Kind == "" || child.GVK.GroupKind() != p.Parent.GVK.GroupKind() {
			continue
		}
		if inNamespaces && spec.Template.Get("metadata").Get("namespace") != nil {
			continue // the child may be in a namespace that the rule does not select
		}
		c.Report(child.Position, diagnostic.CodeRecursion, "%s is a %s like the parent, so every child would be a parent with children of its own without end", spec.Label(), child.GVK.Kind).
			WithRelated(parent.Pos, "the kind of the parent").WithHint("give the child a when, or the parent a selector or a when, that ends this")
	}
}

// mayEscape reports whether a selector may not match the objects of a template, by their labels.
func mayEscape(s labels.Selector, template *yamltree.Node) bool {
	if isUnbounded(s) {
		return false
	}
	set := template.Get("metadata").Get("labels")
	if text, isText := set.Text(); isText && yamltree.HasExpression(text) {
		return true
	}
	constant := labels.Set{}
	requirements, _ := s.Requirements()
	for _, requirement := range requirements {
		value := set.Get(requirement.Key())
		text, isText := value.Text()
		if value != nil && (!isText || yamltree.HasExpression(text)) {
			return true
		}
		if value != nil {
			constant[requirement.Key()] = text
		}
	}
	return !s.Matches(constant)
}

func isUnbounded(s labels.Selector) bool { return s == nil || s.Empty() }

// checkConstantNames reports names that are the values of constant expressions and that Kubernetes does not accept.
// check.MetadataNames checks literals.
func (c *compiler) checkConstantNames(metadata *yamltree.Node, kind schema.GroupKind) {
	check := func(n *yamltree.Node, at string, code diagnostic.Code, what string, wrong func(string) []string) {
		r := c.results[n]
		if n == nil || r.x == nil {
			return
		}
		if text, ok := c.constants.Of(r.x.run).Text(); ok && len(wrong(text)) > 0 {
			c.ReportSpan(n, r.part.Offset, len(r.part.Text), code, "%s: %q is not %s that Kubernetes accepts", at, text, what)
		}
	}
	check(metadata.Get("name"), "metadata.name", diagnostic.CodeObjectName, "a name", syntax.NamesOfKind(kind))
	check(metadata.Get("namespace"), "metadata.namespace", diagnostic.CodeObjectName, "a namespace", validation.IsDNS1123Label)
	for _, f := range metadata.Get("labels").Entries() {
		check(f.Value, "metadata.labels."+f.Name, diagnostic.CodeLabel, "the value of a label", validation.IsValidLabelValue)
	}
}
