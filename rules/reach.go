package rules

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/yamltree"
)

// checkPlace reports a rule in a namespace other than that of its source, and sets the ServiceAccount with which the
// rule acts.
func (c *compiler) checkPlace(p *program.Program) {
	rule := c.rule
	p.ServiceAccountName, p.AllowPrivileged, p.Confined = rule.ServiceAccountName, rule.AllowPrivileged, c.opts.Confined
	if ns := c.opts.Namespace; ns != "" && rule.Namespace != "" && rule.Namespace != ns {
		acts := "acts cluster-wide"
		if c.opts.Confined {
			acts = "is confined to the namespace that it is in,"
		}
		c.Report(rule.NamespacePos, diagnostic.CodeRuleNamespace, "a rule here %s and belongs to namespace %s", acts, ns).
			WithEdit(rule.NamespacePos, rule.Namespace, ns).WithHint("leave out metadata.namespace or say %q", ns)
	}
	if !c.opts.Confined {
		return
	}
	p.ServiceAccountName = cmp.Or(p.ServiceAccountName, program.TenantServiceAccount)
	if rule.AllowPrivileged {
		c.Report(rule.AllowPrivilegedPos, diagnostic.CodeUntrusted, "allowPrivileged is for rules in Kanon's own namespace and in files").WithHint("leave it out")
	}
	if rule.Parent.HasSchema() {
		c.Report(rule.Parent.Pos, diagnostic.CodeBeyond, "a rule that is confined to its namespace cannot define a kind, which is cluster-wide").
			WithHint("have an administrator apply the output of kanon crd, and leave out schema")
	}
	if rule.Parent.NamespaceSelector != nil {
		c.Report(rule.Parent.Pos, diagnostic.CodeBeyond, "a rule that is confined to its namespace cannot select Namespaces").WithHint("leave out namespaceSelector")
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

// confine reports a node of a confined rule that reaches beyond the rule's namespace, as far as the text shows. The
// engine refuses the rest.
func (c *compiler) confine(label string, gvk schema.GroupVersionKind, namespaced bool, n, namespace *yamltree.Node) {
	if !c.opts.Confined || n == nil {
		return
	}
	only := label + " is about objects in namespace " + c.opts.Namespace
	if !namespaced {
		c.reportBeyond(c.FieldAt(n, "kind"), only, gvk.Kind+" is cluster-scoped")
		return
	}
	if name, ok := namespace.Text(); ok && !yamltree.HasExpression(name) && name != c.opts.Namespace {
		c.reportBeyond(c.At(namespace), only, "this names "+name).WithHint("leave it out")
	}
}

func (c *compiler) reportBeyond(pos diagnostic.Position, only, found string) *diagnostic.Finding {
	return c.Report(pos, diagnostic.CodeBeyond, "the rule is confined to its namespace: %s, and %s", only, found)
}

// checkPrivilege reports an object that grants rights, unless the rule may write such objects.
func (c *compiler) checkPrivilege(label string, gvk schema.GroupVersionKind, n *yamltree.Node) {
	reason := program.PrivilegeOfKind(gvk.GroupKind())
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

// checkDeletion reports a deleteWhen for parents that no rule may delete. It is true if the rule may delete them.
func (c *compiler) checkDeletion(deleteWhen *yamltree.Node) bool {
	kind := c.rule.Parent.GVK.GroupKind()
	if isPowerful(kind) || program.PrivilegeOfKind(kind) != "" && !c.rule.AllowPrivileged {
		c.ReportNode(deleteWhen, diagnostic.CodePowerfulParent, "spec.deleteWhen cannot delete a %s: too much goes with it", kind.Kind).
			WithHint("report in spec.status or spec.conditions that it can be deleted, and let a person delete it")
		return false
	}
	return true
}

// isPowerful reports whether the deletion of an object of a kind destroys more than the object itself.
func isPowerful(gk schema.GroupKind) bool {
	switch gk {
	case schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Kind: "Node"}, schema.GroupKind{Kind: "PersistentVolume"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	}
	return false
}
