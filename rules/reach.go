package rules

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/privilege"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// checkPlace reports a rule in a namespace other than that of its source, and says with whose rights the rule acts.
func (c *compiler) checkPlace(p *program.Program) {
	r := c.rule
	p.ServiceAccountName, p.AllowPrivileged, p.Confined = r.ServiceAccountName, r.AllowPrivileged, c.opts.Confined
	if ns := c.opts.Namespace; ns != "" && r.Namespace != "" && r.Namespace != ns {
		acts := "acts cluster-wide"
		if c.opts.Confined {
			acts = "is confined to the namespace that it is in,"
		}
		c.Report(r.NamespacePos, diagnostic.CodeRuleNamespace, "a rule here %s and belongs to namespace %s", acts, ns).
			WithEdit(r.NamespacePos, r.Namespace, ns).WithHint("leave out metadata.namespace or say %q", ns)
	}
	if !c.opts.Confined {
		return
	}
	p.ServiceAccountName = cmp.Or(p.ServiceAccountName, program.TenantServiceAccount)
	if r.AllowPrivileged {
		c.Report(r.AllowPrivilegedPos, diagnostic.CodeUntrusted, "allowPrivileged is for rules in Kanon's own namespace and in files").WithHint("leave it out")
	}
	if r.Parent.HasSchema() {
		c.Report(r.Parent.Pos, diagnostic.CodeBeyond, "a rule that is confined to its namespace cannot define a kind, which is cluster-wide").
			WithHint("have an administrator apply the output of kanon crd, and leave out schema")
	}
	if r.Parent.NamespaceSelector != nil {
		c.Report(r.Parent.Pos, diagnostic.CodeBeyond, "a rule that is confined to its namespace cannot select Namespaces").WithHint("leave out namespaceSelector")
	}
}

// confineParent limits the parents of a confined rule to its namespace.
func (c *compiler) confineParent(parent *program.Parent) {
	if !c.opts.Confined {
		return
	}
	spec, own := c.rule.Parent, c.opts.Namespace
	if other := slices.IndexFunc(spec.Namespaces, func(name string) bool { return name != own }); other >= 0 {
		c.reportBeyond(spec.Pos, "its parents are in namespace "+own, "it names "+spec.Namespaces[other]).WithHint("leave out namespaces")
	}
	if !parent.Namespaced {
		c.reportBeyond(spec.Pos, "its parents are in namespace "+own, spec.GVK.Kind+" is cluster-scoped")
	}
	parent.Namespaces = []string{own}
}

// confine reports a node of a confined rule that reaches beyond the rule's namespace, as far as the text tells. The engine refuses
// the rest.
func (c *compiler) confine(label string, gvk schema.GroupVersionKind, namespaced bool, n, namespace *yamltree.Node) {
	if !c.opts.Confined || n == nil {
		return
	}
	only := label + " is about objects in namespace " + c.opts.Namespace
	if !namespaced {
		c.reportBeyond(c.FieldAt(n, "kind"), only, gvk.Kind+" is cluster-scoped")
		return
	}
	if name, ok := namespace.Text(); ok && !syntax.HasExpression(name) && name != c.opts.Namespace {
		c.reportBeyond(c.rule.Source.At(namespace), only, "this names "+name).WithHint("leave it out")
	}
}

func (c *compiler) reportBeyond(pos diagnostic.Position, only, found string) *diagnostic.Finding {
	return c.Report(pos, diagnostic.CodeBeyond, "the rule is confined to its namespace: %s, and %s", only, found)
}

// checkPrivilege reports an object that grants rights, unless the rule may write such.
func (c *compiler) checkPrivilege(label string, gvk schema.GroupVersionKind, n *yamltree.Node) {
	reason := privilege.OfKind(gvk.GroupKind())
	if c.rule.AllowPrivileged || reason == "" || n == nil {
		return
	}
	f := c.Report(c.FieldAt(n, "kind"), diagnostic.CodePrivileged, "%s is a %s, and %s: a rule writes such objects only with allowPrivileged", label, gvk.Kind, reason)
	if c.opts.Confined {
		f.WithHint("only rules in Kanon's own namespace and in files may say allowPrivileged: true")
		return
	}
	f.WithHint("if everybody who may write a parent may have that, add allowPrivileged: true to spec")
}
