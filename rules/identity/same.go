package identity

import (
	"strconv"

	"k8s.io/apimachinery/pkg/labels"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/syntax"
)

// CheckSame reports children that would be the same object.
func CheckSame(r *reporting.Reporter, rule *syntax.Rule, p *program.Program) {
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
			r.ReportNode(metadata.Get("name"), diagnostic.CodeSameObject, "%s is the same object as %s: both are %s %s",
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

// CheckRecursion reports a rule whose children are parents of the same rule, so that each would have children again.
func CheckRecursion(r *reporting.Reporter, rule *syntax.Rule, p *program.Program) {
	parent := rule.Parent
	bounded := parent.When != nil || !isUnbounded(p.Parent.Selector) || parent.Gaps["when"] || parent.Gaps["selector"]
	inNamespaces := len(p.Parent.Namespaces) > 0 || !isUnbounded(p.Parent.NamespaceSelector) ||
		parent.Gaps["namespaces"] || parent.Gaps["namespaceSelector"]
	for i, child := range p.Children {
		spec := &rule.Children[i]
		if bounded || spec.When != nil || spec.Gaps["when"] || child.GVK.Kind == "" || child.GVK.GroupKind() != p.Parent.GVK.GroupKind() {
			continue
		}
		if inNamespaces && spec.Template.Get("metadata").Get("namespace") != nil {
			continue // the child may be in a namespace that the rule does not select
		}
		r.Report(child.Position, diagnostic.CodeRecursion, "%s is a %s like the parent, so every child would be a parent with children of its own without end", spec.Label(), child.GVK.Kind).
			WithRelated(parent.Pos, "the kind of the parent").WithHint("give the child a when, or the parent a selector or a when, that ends this")
	}
}

// isUnbounded reports whether a selector selects everything.
func isUnbounded(s labels.Selector) bool { return s == nil || s.Empty() }
