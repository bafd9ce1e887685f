package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// isMisspelt says whether a mapping has a field whose name is nearly the one that
// is missing, so that the finding about that field says enough.
func (c *compiler) isMisspelt(n *yamltree.Node, name string, gvk schema.GroupVersionKind) bool {
	return c.schemaOf(gvk) != nil && slices.ContainsFunc(n.Fields, func(f yamltree.Field) bool {
		_, near := diagnostic.Nearest(f.Name, []string{name})
		return near && !syntax.HasExpression(f.Name)
	})
}

// checkItemNames reports a forEach whose items would all be the same object. It
// comes after the template was compiled.
func (c *compiler) checkItemNames(spec *syntax.Child) {
	root := spec
	single := c.atMostOneItem(spec)
	if f := c.families[spec.ID]; f != nil && spec.Many() {
		root, single = f.root, f.single
	}
	if len(root.ForEach) == 0 || root.Gaps["forEach"] || single {
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
		case syntax.HasExpression(text):
			if r, compiled := c.results[n]; !compiled || r.items {
				return
			}
		}
	}
	if name == nil {
		return
	}
	c.ReportNode(name, diagnostic.CodeSameItem, "every item of %s is the same object: its name does not depend on %s",
		spec.Label(), root.ForEach[0].Name).WithHint("make the name different for each item")
}

// atMostOneItem says whether it can be seen that forEach gives one item at most,
// as in [x] and in cond ? [x] : [].
func (c *compiler) atMostOneItem(spec *syntax.Child) bool {
	return !slices.ContainsFunc(spec.ForEach, func(f syntax.Dimension) bool {
		switch {
		case f.In == nil:
			return false
		case f.In.Kind == yamltree.Mapping:
			return len(f.In.Fields) > 1
		case f.In.Kind == yamltree.Sequence:
			return len(f.In.Items) > 1 || len(f.In.Items) == 1 && syntax.IsSpread(f.In.Items[0])
		}
		r, ok := c.results[f.In]
		return ok && r.x != nil && !atMostOne(r.x.expr.Root())
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

// checkSteadyIdentity reports a name or a namespace that goes with the clock,
// which would be another object each time.
func (c *compiler) checkSteadyIdentity(spec *syntax.Child, from *origin) {
	if from == nil || c.rule.RequeueAfter == nil {
		return // it was reported
	}
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

// checkRandomIdentity reports a name or a namespace that is made at random, which
// would be another object each time.
func (c *compiler) checkRandomIdentity(spec *syntax.Child, u *flow.Uses) {
	metadata := spec.Template.Get("metadata")
	for _, n := range []*yamltree.Node{metadata, metadata.Get("name"), metadata.Get("namespace")} {
		if n != nil && slices.Contains(u.Random, n) {
			c.ReportNode(n, diagnostic.CodeRandomIdentity, "%s would create a new object at every evaluation, because its name is random", spec.Label()).
				WithHint("render the name from what is different for each object")
		}
	}
}

// rbacGroup is the group whose objects may have names of all kinds of signs.
const rbacGroup = "rbac.authorization.k8s.io"

// checkObjectNames reports what the API server refuses in the name, the namespace,
// the labels and the keys of annotations, as far as it is written out.
func (c *compiler) checkObjectNames(metadata *yamltree.Node, kind schema.GroupKind) {
	hint := lowerNames
	if kind.Group == rbacGroup {
		hint = ""
	}
	c.checkWritten(metadata.Get("name"), "metadata.name", diagnostic.CodeObjectName, "a name", syntax.NameRule(kind), hint)
	c.checkWritten(metadata.Get("namespace"), "metadata.namespace", diagnostic.CodeObjectName, "a namespace", validation.IsDNS1123Label, lowerNames)
	for _, f := range fieldsOf(metadata.Get("labels")) {
		at := "metadata.labels." + f.Name
		c.checkWritten(f.Key, at, diagnostic.CodeLabel, "the key of a label", validation.IsQualifiedName, labelNames)
		c.checkWritten(f.Value, at, diagnostic.CodeLabel, "the value of a label", validation.IsValidLabelValue, labelNames)
	}
	for _, f := range fieldsOf(metadata.Get("annotations")) {
		qualified := func(key string) []string { return validation.IsQualifiedName(strings.ToLower(key)) }
		c.checkWritten(f.Key, "metadata.annotations."+f.Name, diagnostic.CodeLabel, "the key of an annotation", qualified, labelNames)
	}
}

const (
	lowerNames = "write lower case letters, digits, - and ., with a letter or digit at both ends"
	labelNames = "write letters, digits, -, _ and ., with a letter or digit at both ends, and at most 63 of them"
)

func fieldsOf(n *yamltree.Node) []yamltree.Field {
	if n == nil || n.Kind != yamltree.Mapping {
		return nil
	}
	return n.Fields
}

// checkWritten reports a string that cannot be what it has to be: one without
// expressions, or one that is wrong whatever its expressions give.
func (c *compiler) checkWritten(n *yamltree.Node, at string, code diagnostic.Code, what string, check func(string) []string, hint string) {
	s, ok := n.Text()
	if !ok || s == "" {
		return
	}
	written := s
	if syntax.HasExpression(s) {
		parts, err := syntax.Scan(s)
		if err != nil || !slices.ContainsFunc(parts, func(p syntax.Part) bool { return !p.Expr }) {
			return
		}
		var b strings.Builder
		b.WriteByte('a') // the ends may be an expression's
		for _, p := range parts {
			if p.Expr {
				b.WriteByte('a')
			} else {
				b.WriteString(p.Text)
			}
		}
		b.WriteByte('a')
		written = b.String()
	}
	if len(check(written)) == 0 {
		return
	}
	if strings.Contains(s, "{{") {
		hint = "an expression is written ${…}, as in ${parent.metadata.name}"
	}
	c.ReportNode(n, code, "%s: %q is not %s that Kubernetes accepts", at, s, what).WithHint("%s", hint)
}

// checkConstantNames reports names that expressions give each time and that Kubernetes
// does not take. Those that are written out were looked at before.
func (c *compiler) checkConstantNames(metadata *yamltree.Node, kind schema.GroupKind) {
	check := func(n *yamltree.Node, at string, code diagnostic.Code, what string, wrong func(string) []string) {
		r, ok := c.results[n]
		if n == nil || !ok || r.x == nil {
			return
		}
		if text, isText := c.constants.Of(r.x.run).Text(); isText && len(wrong(text)) > 0 {
			c.ReportSpan(n, r.part.Offset, len(r.part.Text), code, "%s: %q is not %s that Kubernetes accepts", at, text, what)
		}
	}
	check(metadata.Get("name"), "metadata.name", diagnostic.CodeObjectName, "a name", syntax.NameRule(kind))
	check(metadata.Get("namespace"), "metadata.namespace", diagnostic.CodeObjectName, "a namespace", validation.IsDNS1123Label)
	for _, f := range fieldsOf(metadata.Get("labels")) {
		check(f.Value, "metadata.labels."+f.Name, diagnostic.CodeLabel, "the value of a label", validation.IsValidLabelValue)
	}
}

// checkIdentities reports children that would be one and the same object.
func (c *compiler) checkIdentities(p *program.Program) {
	type identity struct{ group, kind, namespace, name string }
	seen := map[identity]int{}
	for i, child := range p.Children {
		spec := &c.rule.Children[i]
		metadata := spec.Template.Get("metadata")
		name, ok := metadata.Get("name").Text()
		if !ok || spec.Many() || spec.Gaps["forEach"] || spec.Gaps["when"] || child.GVK.Kind == "" {
			continue
		}
		namespace, _ := metadata.Get("namespace").Text()
		if namespace = flow.SameText(namespace); namespace == "${parent.metadata.namespace}" {
			namespace = "" // as where it is left out
		}
		id := identity{child.GVK.Group, child.GVK.Kind, namespace, flow.SameText(name)}
		first, twice := seen[id]
		if !twice {
			seen[id] = i
			continue
		}
		if !exclusive(spec, &c.rule.Children[first]) {
			c.ReportNode(metadata.Get("name"), diagnostic.CodeSameObject, "%s is the same object as %s: both are %s %s",
				spec.Label(), c.rule.Children[first].Label(), child.GVK.Kind, strconv.Quote(name)).
				WithRelated(c.rule.Source.At(c.rule.Children[first].Template.Get("metadata").Get("name")), "the first one")
		}
	}
}

// exclusive says whether two children have conditions that may leave out one
// of them.
func exclusive(a, b *syntax.Child) bool {
	if a.When == nil || b.When == nil {
		return false
	}
	at, _ := a.When.Text()
	bt, _ := b.When.Text()
	return at != bt
}

// checkRecursion reports a rule whose children are parents of the same rule,
// each of which would have children again.
func (c *compiler) checkRecursion(p *program.Program) {
	parent := c.rule.Parent
	bounded := parent.When != nil || !isUnbounded(p.Parent.Selector) || parent.Gaps["when"] || parent.Gaps["selector"]
	inNamespaces := len(p.Parent.Namespaces) > 0 || !isUnbounded(p.Parent.NamespaceSelector) ||
		parent.Gaps["namespaces"] || parent.Gaps["namespaceSelector"]
	for i, child := range p.Children {
		spec := &c.rule.Children[i]
		if bounded || spec.When != nil || spec.Gaps["when"] || child.GVK.Kind == "" || child.GVK.GroupKind() != p.Parent.GVK.GroupKind() {
			continue
		}
		if inNamespaces && spec.Template.Get("metadata").Get("namespace") != nil {
			continue // the child may be in a namespace whose objects are no parents
		}
		c.Report(child.Position, diagnostic.CodeRecursion, "%s is a %s like the parent, so every child would be a parent with children of its own without end", spec.Label(), child.GVK.Kind).
			WithRelated(parent.Pos, "the kind of the parent").WithHint("give the child a when, or the parent a selector or a when, that ends this")
	}
}
