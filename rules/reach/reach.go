package reach

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/privilege"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Reach is what a rule may reach.
type Reach struct {
	*reporting.Reporter
	Rule *syntax.Rule
	// Namespace is the namespace of the source. Confined is true for a rule that must not reach beyond it.
	Namespace string
	Confined  bool
}

// CheckPlace reports a rule in a namespace other than that of its source, and sets the ServiceAccount with which the
// rule acts.
func (r *Reach) CheckPlace(p *program.Program) {
	rule := r.Rule
	p.ServiceAccountName, p.AllowPrivileged, p.Confined = rule.ServiceAccountName, rule.AllowPrivileged, r.Confined
	if ns := r.Namespace; ns != "" && rule.Namespace != "" && rule.Namespace != ns {
		acts := "acts cluster-wide"
		if r.Confined {
			acts = "is confined to the namespace that it is in,"
		}
		r.Report(rule.NamespacePos, diagnostic.CodeRuleNamespace, "a rule here %s and belongs to namespace %s", acts, ns).
			WithEdit(rule.NamespacePos, rule.Namespace, ns).WithHint("leave out metadata.namespace or say %q", ns)
	}
	if !r.Confined {
		return
	}
	p.ServiceAccountName = cmp.Or(p.ServiceAccountName, program.TenantServiceAccount)
	if rule.AllowPrivileged {
		r.Report(rule.AllowPrivilegedPos, diagnostic.CodeUntrusted, "allowPrivileged is for rules in Kanon's own namespace and in files").WithHint("leave it out")
	}
	if rule.Parent.HasSchema() {
		r.Report(rule.Parent.Pos, diagnostic.CodeBeyond, "a rule that is confined to its namespace cannot define a kind, which is cluster-wide").
			WithHint("have an administrator apply the output of kanon crd, and leave out schema")
	}
	if rule.Parent.NamespaceSelector != nil {
		r.Report(rule.Parent.Pos, diagnostic.CodeBeyond, "a rule that is confined to its namespace cannot select Namespaces").WithHint("leave out namespaceSelector")
	}
}

// ConfineParent limits the parents of a confined rule to its namespace.
func (r *Reach) ConfineParent(parent *program.Parent) {
	if !r.Confined {
		return
	}
	spec, own := r.Rule.Parent, r.Namespace
	if other := slices.IndexFunc(spec.Namespaces, func(name string) bool { return name != own }); other >= 0 {
		r.reportBeyond(spec.Pos, "its parents are in namespace "+own, "it names "+spec.Namespaces[other]).WithHint("leave out namespaces")
	}
	if !parent.Namespaced {
		r.reportBeyond(spec.Pos, "its parents are in namespace "+own, spec.GVK.Kind+" is cluster-scoped")
	}
	parent.Namespaces = []string{own}
}

// Confine reports a node of a confined rule that reaches beyond the rule's namespace, as far as the text shows. The
// engine refuses the rest.
func (r *Reach) Confine(label string, gvk schema.GroupVersionKind, namespaced bool, n, namespace *yamltree.Node) {
	if !r.Confined || n == nil {
		return
	}
	only := label + " is about objects in namespace " + r.Namespace
	if !namespaced {
		r.reportBeyond(r.FieldAt(n, "kind"), only, gvk.Kind+" is cluster-scoped")
		return
	}
	if name, ok := namespace.Text(); ok && !scanner.HasExpression(name) && name != r.Namespace {
		r.reportBeyond(r.At(namespace), only, "this names "+name).WithHint("leave it out")
	}
}

func (r *Reach) reportBeyond(pos diagnostic.Position, only, found string) *diagnostic.Finding {
	return r.Report(pos, diagnostic.CodeBeyond, "the rule is confined to its namespace: %s, and %s", only, found)
}

// CheckPrivilege reports an object that grants rights, unless the rule may write such objects.
func (r *Reach) CheckPrivilege(label string, gvk schema.GroupVersionKind, n *yamltree.Node) {
	reason := privilege.OfKind(gvk.GroupKind())
	if r.Rule.AllowPrivileged || reason == "" || n == nil {
		return
	}
	f := r.Report(r.FieldAt(n, "kind"), diagnostic.CodePrivileged, "%s is a %s, and %s: a rule writes such objects only with allowPrivileged", label, gvk.Kind, reason)
	if r.Confined {
		f.WithHint("only rules in Kanon's own namespace and in files may say allowPrivileged: true")
		return
	}
	f.WithHint("if everybody who may write a parent may have that, add allowPrivileged: true to spec")
}

// CheckDeletion reports a deleteWhen for parents that no rule may delete. It is true if the rule may delete them.
func (r *Reach) CheckDeletion(deleteWhen *yamltree.Node) bool {
	kind := r.Rule.Parent.GVK.GroupKind()
	if isPowerful(kind) || privilege.OfKind(kind) != "" && !r.Rule.AllowPrivileged {
		r.ReportNode(deleteWhen, diagnostic.CodePowerfulParent, "spec.deleteWhen cannot delete a %s: too much goes with it", kind.Kind).
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
