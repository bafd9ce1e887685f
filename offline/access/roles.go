package access

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Subject is the recipient of rights.
type Subject struct {
	// Role is the name of the roles and bindings.
	Role           string
	ServiceAccount types.NamespacedName
}

// Roles writes the rights as YAML: a ClusterRole for all namespaces, a Role for each namespace that a rule names, and
// their bindings. Rights that are to be granted namespace by namespace are a ClusterRole without a binding.
func (r *Rights) Roles(s Subject) string {
	w := &writer{subject: s}
	var namespaces []string
	everywhere, each := []Right{}, []Right{}
	inNamespace := map[string][]Right{}
	for _, right := range r.Sorted() {
		switch {
		case right.Each:
			each = append(each, right)
		case right.Namespace == "":
			everywhere = append(everywhere, right)
		default:
			if inNamespace[right.Namespace] == nil {
				namespaces = append(namespaces, right.Namespace)
			}
			inNamespace[right.Namespace] = append(inNamespace[right.Namespace], right)
		}
	}
	for _, note := range r.notes {
		w.comment(note)
	}
	if len(everywhere) > 0 {
		w.role("ClusterRole", s.Role, "", everywhere)
		w.binding("ClusterRole", s.Role, "")
	}
	for _, namespace := range namespaces {
		w.role("Role", s.Role, namespace, inNamespace[namespace])
		w.binding("Role", s.Role, namespace)
	}
	if len(each) > 0 {
		w.comment("Bind this ClusterRole by a RoleBinding in each namespace whose Secrets the rules may read.")
		w.role("ClusterRole", s.Role+"-secrets", "", each)
	}
	return w.text.String()
}

type writer struct {
	subject Subject
	text    strings.Builder
	began   bool
	// noted is true after a comment, which belongs to the next document.
	noted bool
}

func (w *writer) begin() {
	if w.began && !w.noted {
		w.text.WriteString("---\n")
	}
	w.began, w.noted = true, false
}

func (w *writer) comment(text string) {
	if !w.noted {
		w.begin()
	}
	w.noted = true
	fmt.Fprintf(&w.text, "# %s\n", text)
}

func (w *writer) metadata(name, namespace string) {
	fmt.Fprintf(&w.text, "metadata:\n  name: %s\n", name)
	if namespace != "" {
		fmt.Fprintf(&w.text, "  namespace: %s\n", namespace)
	}
	w.text.WriteString("  labels: {app.kubernetes.io/name: kanon}\n")
}

func (w *writer) role(kind, name, namespace string, rights []Right) {
	w.begin()
	fmt.Fprintf(&w.text, "apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\n", kind)
	w.metadata(name, namespace)
	w.text.WriteString("rules:\n")
	for _, right := range merged(rights) {
		fmt.Fprintf(&w.text, "  # %s\n  - apiGroups: [%s]\n    resources: [%s]\n", purpose(right.For), quoted(right.Group), strings.Join(right.resources, ", "))
		if len(right.Names) > 0 {
			fmt.Fprintf(&w.text, "    resourceNames: [%s]\n", strings.Join(right.Names, ", "))
		}
		fmt.Fprintf(&w.text, "    verbs: [%s]\n", strings.Join(right.Verbs, ", "))
	}
}

func quoted(group string) string {
	if group == "" {
		return `""`
	}
	return group
}

func (w *writer) binding(kind, name, namespace string) {
	w.begin()
	fmt.Fprintf(&w.text, "apiVersion: rbac.authorization.k8s.io/v1\nkind: %sBinding\n", kind)
	w.metadata(name, namespace)
	fmt.Fprintf(&w.text, "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: %s}\n", kind, name)
	fmt.Fprintf(&w.text, "subjects:\n  - {kind: ServiceAccount, name: %s, namespace: %s}\n", w.subject.ServiceAccount.Name, w.subject.ServiceAccount.Namespace)
}

// rule is a rule of a role: a right on several resources of a group.
type rule struct {
	Right
	resources []string
}

// merged joins rights that differ only in the resource.
func merged(rights []Right) []rule {
	var out []rule
	for _, right := range rights {
		i := slices.IndexFunc(out, func(r rule) bool {
			return r.Group == right.Group && len(r.Names) == 0 && len(right.Names) == 0 && slices.Equal(r.Verbs, right.Verbs) && slices.Equal(kindsOf(r.For), kindsOf(right.For))
		})
		if i < 0 {
			out = append(out, rule{right, []string{right.Resource}})
			continue
		}
		out[i].resources = append(out[i].resources, right.Resource)
		out[i].For = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(out[i].For), right.For...))))
	}
	return out
}

// kindsOf are the distinct parts in purposes, without the names of rules.
func kindsOf(purposes []string) []string {
	var kinds []string
	for _, p := range purposes {
		kind, _, _ := strings.Cut(p, " of ")
		kinds = append(kinds, kind)
	}
	return slices.Compact(kinds)
}

// purpose groups purposes by part: "children of foo, webapp; parents of foo".
func purpose(purposes []string) string {
	var parts []string
	names := map[string][]string{}
	for _, p := range purposes {
		part, name, _ := strings.Cut(p, " of ")
		if names[part] == nil {
			parts = append(parts, part)
		}
		names[part] = append(names[part], name)
	}
	slices.Sort(parts)
	for i, part := range parts {
		parts[i] = part + " of " + strings.Join(names[part], ", ")
	}
	return strings.Join(parts, "; ")
}
