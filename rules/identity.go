package rules

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
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
	c.reportNode(name, diagnostic.CodeSameItem, "every item of %s is the same object: its name does not depend on %s",
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
		c.reportNode(n, diagnostic.CodeMovingTime, "%s must not change with every second, which would create a new object each time, and this does, because it uses now", what).
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
			c.reportNode(n, diagnostic.CodeRandomIdentity, "%s would create a new object at every evaluation, because its name is random", spec.Label()).
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
	c.reportNode(n, code, "%s: %q is not %s that Kubernetes accepts", at, s, what).WithHint("%s", hint)
}
