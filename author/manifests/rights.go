package manifests

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Right is a set of verbs on one resource.
type Right struct {
	Group string
	// Resource includes the subresource, as in webapps/status.
	Resource string
	// Namespace is the only namespace of the right. Empty: all namespaces, or a cluster-scoped resource.
	Namespace string
	// Each is true if the right is to be granted by a RoleBinding in each namespace that needs it, instead of in all
	// namespaces.
	Each  bool
	Names []string
	Verbs []string
	// For lists the parts of rules that need the right, such as "children of webapp".
	For []string
}

// Rights are the rights that rules need. The zero value has none.
type Rights struct {
	all []*Right
	// notes describe rights that cannot be computed.
	notes []string
}

// RightsOptions add rights that do not depend on the rule alone.
type RightsOptions struct {
	// Finalizers adds the rights that the admission plugin OwnerReferencesPermissionEnforcement requires.
	Finalizers bool
	// Definitions adds the rights to install CustomResourceDefinitions in the files of rules.
	Definitions bool
}

// order lists the verbs in the order of roles.
func order() []string {
	return []string{"get", "list", "watch", "create", "update", "patch", "delete", "bind"}
}

// Add adds the rights that a rule needs. The error names an unknown kind.
func (r *Rights) Add(rule *syntax.Rule, program *program.Program, kinds *Kinds, o RightsOptions) error {
	a := adder{Rights: r, rule: rule, program: program, kinds: kinds}
	a.parent(o)
	for i, child := range program.Children {
		a.child(child, a.template(i, child.ID))
	}
	for _, lookup := range program.Lookups {
		a.read("lookups", lookup.GVK, lookup.Namespace, "get", "list", "watch")
	}
	for _, patch := range program.Patches {
		if patch.Target != nil {
			a.read("patches", patch.GVK, patch.Target.Namespace, "get", "list", "watch", "patch")
			continue
		}
		a.add(a.parentRight("", "patch"))
	}
	if a.program.ServiceAccountName != "" && len(a.program.Events) > 0 {
		a.add(Right{Resource: "events", Verbs: []string{"create"}, For: []string{"events"}})
	}
	return a.err
}

// adder adds the rights of one rule.
type adder struct {
	*Rights
	rule    *syntax.Rule
	program *program.Program
	kinds   *Kinds
	err     error
}

func (a *adder) resource(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	gvr, ok := a.kinds.Resource(gvk)
	if !ok && a.err == nil {
		a.err = fmt.Errorf("rule %s: kind %s in %s is not known here: give its CustomResourceDefinition with --schemas", a.program.Name, gvk.Kind, gvk.GroupVersion())
	}
	return gvr
}

// parentRight is a right on the parents, limited to their namespace if the rule names exactly one.
func (a *adder) parentRight(subresource string, verbs ...string) Right {
	parent := a.program.Parent
	gvr := a.resource(parent.GVK)
	right := Right{Group: gvr.Group, Resource: strings.TrimSuffix(gvr.Resource+"/"+subresource, "/"), Verbs: verbs, For: []string{"parents"}}
	if len(parent.Namespaces) == 1 {
		right.Namespace = parent.Namespaces[0]
	}
	return right
}

func (a *adder) parent(o RightsOptions) {
	parent := a.program.Parent
	a.add(a.parentRight("", "get", "list", "watch"))
	if kind, _ := a.kinds.Lookup(parent.GVK); a.program.Status != nil || len(a.program.ConditionTypes()) > 0 || a.kinds.TakesConditions(parent.GVK) {
		if kind.HasStatus {
			a.add(a.parentRight("status", "patch"))
		} else {
			a.add(a.parentRight("", "patch"))
		}
	}
	if a.mayNeedFinalizer() {
		a.add(a.parentRight("", "patch"))
	}
	if a.program.DeleteWhen != nil {
		a.add(a.parentRight("", "delete"))
	}
	if o.Finalizers {
		a.add(a.parentRight("finalizers", "update"))
	}
	if parent.NamespaceSelector != nil {
		a.add(Right{Resource: "namespaces", Verbs: []string{"get", "list", "watch"}, For: []string{"namespaceSelector"}})
	}
	if a.rule.Parent.Definition != nil && !o.Definitions {
		a.notes = append(a.notes, fmt.Sprintf("Kanon applies the CustomResourceDefinition of %s, which spec.parent.schema of %s makes, if it may: --definitions adds these rights. Or apply what 'kanon crd' prints.",
			parent.GVK.Kind, a.program.Name))
	}
	if o.Definitions {
		a.add(Right{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Verbs: []string{"get", "create", "patch"}, For: []string{"definitions"}})
	}
}

// mayNeedFinalizer reports whether Kanon may have to delete children itself, because the garbage collector does not.
func (a *adder) mayNeedFinalizer() bool {
	if a.program.Finalize != nil {
		return true
	}
	namespaced := a.program.Parent.Namespaced
	return slices.ContainsFunc(a.program.Children, func(c *program.Child) bool {
		return namespaced && (!c.Namespaced || c.Elsewhere) || c.Ending.WhenDeleted != syntax.EndDelete
	})
}

// template is the template of the program's i-th child in the rule; nil for children of spec.finalize, which follow the
// others.
func (a *adder) template(i int, id string) *yamltree.Node {
	if i < len(a.rule.Children) && a.rule.Children[i].ID == id {
		return a.rule.Children[i].Template
	}
	return nil
}

func (a *adder) child(child *program.Child, template *yamltree.Node) {
	gvr := a.resource(child.GVK)
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	if hasEmpty(template) {
		verbs = slices.DeleteFunc(verbs, func(verb string) bool { return verb == "update" }) // empty fields are written by apply only
	}
	a.add(Right{Group: gvr.Group, Resource: gvr.Resource, Verbs: verbs, For: []string{"children"}})
	if child.Namespaced && child.Elsewhere && !a.namesParent(template) {
		a.add(Right{Resource: "namespaces", Verbs: []string{"list", "watch"}, For: []string{"children in other namespaces"}})
	}
	if gvr.Group == "rbac.authorization.k8s.io" && strings.HasSuffix(gvr.Resource, "rolebindings") {
		role := template.Get("roleRef")
		kind, _ := role.Get("kind").Text()
		name, ok := role.Get("name").Text()
		right := Right{Group: gvr.Group, Resource: strings.ToLower(kind) + "s", Verbs: []string{"bind"}, For: []string{"roles granted by children"}}
		if ok && !yamltree.HasExpression(name) {
			right.Names = []string{name}
		}
		if kind == "Role" || kind == "ClusterRole" {
			a.add(right)
		}
	}
	if gvr.Group == "rbac.authorization.k8s.io" && strings.HasSuffix(gvr.Resource, "roles") {
		a.notes = append(a.notes, fmt.Sprintf("Child %s of %s is a %s: whoever writes it also needs the rights that it grants, or the verb escalate.",
			child.ID, a.program.Name, child.GVK.Kind))
	}
}

// namesParent reports whether the child's namespace is the parent itself, which exists.
func (a *adder) namesParent(template *yamltree.Node) bool {
	namespace, _ := template.Get("metadata").Get("namespace").Text()
	return namespace == "${parent.metadata.name}" && a.program.Parent.GVK.Kind == "Namespace"
}

// hasEmpty reports whether a template has an empty mapping or list.
func hasEmpty(n *yamltree.Node) bool {
	if n == nil {
		return false
	}
	switch n.Kind {
	case yamltree.Mapping:
		return len(n.Fields) == 0 || slices.ContainsFunc(n.Fields, func(f yamltree.Field) bool { return hasEmpty(f.Value) })
	case yamltree.Sequence:
		return len(n.Items) == 0 || slices.ContainsFunc(n.Items, hasEmpty)
	default:
		return false
	}
}

// read adds a right on objects that the rule does not own. Secrets are granted per namespace.
func (a *adder) read(what string, gvk schema.GroupVersionKind, namespace string, verbs ...string) {
	gvr := a.resource(gvk)
	a.add(Right{
		Group: gvr.Group, Resource: gvr.Resource, Namespace: namespace, Verbs: verbs, For: []string{what},
		Each: namespace == "" && gvr.Group == "" && gvr.Resource == "secrets",
	})
}

// add adds a right, or merges it into a right on the same resource.
func (a *adder) add(right Right) {
	right.For[0] += " of " + a.program.Name
	for _, known := range a.all {
		if known.place() == right.place() && slices.Equal(known.Names, right.Names) {
			known.Verbs = union(known.Verbs, right.Verbs)
			known.For = append(known.For, right.For...)
			return
		}
	}
	right.Verbs = union(nil, right.Verbs)
	a.all = append(a.all, &right)
}

type rightPlace struct {
	group, resource, namespace string
	each                       bool
}

func (r *Right) place() rightPlace { return rightPlace{r.Group, r.Resource, r.Namespace, r.Each} }

// union is the union of verbs, in the order of roles.
func union(a, b []string) []string {
	var out []string
	for _, verb := range order() {
		if slices.Contains(a, verb) || slices.Contains(b, verb) {
			out = append(out, verb)
		}
	}
	return out
}

// Sorted lists the rights by namespace, group and resource, without those that another right covers.
func (r *Rights) Sorted() []Right {
	var out []Right
	for _, right := range r.all {
		if !r.isCovered(right) {
			out = append(out, *right)
		}
	}
	slices.SortFunc(out, func(a, b Right) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), slices.Compare(a.Names, b.Names))
	})
	for i := range out {
		slices.Sort(out[i].For)
		out[i].For = slices.Compact(out[i].For)
	}
	return out
}

// isCovered reports whether another right grants the same in all namespaces.
func (r *Rights) isCovered(right *Right) bool {
	if right.Namespace == "" && !right.Each {
		return false
	}
	return slices.ContainsFunc(r.all, func(other *Right) bool {
		return other.Namespace == "" && !other.Each && other.Group == right.Group && other.Resource == right.Resource && len(other.Names) == 0 &&
			!slices.ContainsFunc(right.Verbs, func(verb string) bool { return !slices.Contains(other.Verbs, verb) })
	})
}
