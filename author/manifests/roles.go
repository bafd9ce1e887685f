package manifests

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
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
	var documents, namespaces []string
	var everywhere, each []Right
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
	if len(everywhere) > 0 {
		documents = append(documents, role("ClusterRole", s.Role, "", everywhere), s.binding("ClusterRole", ""))
	}
	for _, namespace := range namespaces {
		documents = append(documents, role("Role", s.Role, namespace, inNamespace[namespace]), s.binding("Role", namespace))
	}
	if len(each) > 0 {
		const how = "# Bind this ClusterRole by a RoleBinding in each namespace whose Secrets the rules may read.\n"
		documents = append(documents, how+role("ClusterRole", s.Role+"-secrets", "", each))
	}
	var text strings.Builder
	for _, note := range r.notes {
		text.WriteString("# " + note + "\n")
	}
	text.WriteString(strings.Join(documents, "---\n"))
	return text.String()
}

// head is the beginning of a role or a binding.
func head(kind, name, namespace string) string {
	text := fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata:\n  name: %s\n", kind, name)
	if namespace != "" {
		text += "  namespace: " + namespace + "\n"
	}
	return text + "  labels: {app.kubernetes.io/name: kanon}\n"
}

func role(kind, name, namespace string, rights []Right) string {
	var text strings.Builder
	text.WriteString(head(kind, name, namespace) + "rules:\n")
	for _, right := range merged(rights) {
		group := cmp.Or(right.Group, `""`)
		fmt.Fprintf(&text, "  # %s\n  - apiGroups: [%s]\n    resources: [%s]\n", purpose(right.For), group, strings.Join(right.resources, ", "))
		if len(right.Names) > 0 {
			fmt.Fprintf(&text, "    resourceNames: [%s]\n", strings.Join(right.Names, ", "))
		}
		fmt.Fprintf(&text, "    verbs: [%s]\n", strings.Join(right.Verbs, ", "))
	}
	return text.String()
}

// binding binds the role of a kind.
func (s Subject) binding(kind, namespace string) string {
	return head(kind+"Binding", s.Role, namespace) +
		fmt.Sprintf("roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: %s}\n", kind, s.Role) +
		fmt.Sprintf("subjects:\n  - {kind: ServiceAccount, name: %s, namespace: %s}\n", s.ServiceAccount.Name, s.ServiceAccount.Namespace)
}

// roleRule is a rule of a role: a right on several resources of a group.
type roleRule struct {
	Right
	resources []string
}

// merged joins rights that differ only in the resource.
func merged(rights []Right) []roleRule {
	var out []roleRule
	for _, right := range rights {
		i := slices.IndexFunc(out, func(r roleRule) bool {
			return r.Group == right.Group && len(r.Names) == 0 && len(right.Names) == 0 && slices.Equal(r.Verbs, right.Verbs) && slices.Equal(kindsOf(r.For), kindsOf(right.For))
		})
		if i < 0 {
			out = append(out, roleRule{right, []string{right.Resource}})
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

// MissingRights asks an API server which rights a user lacks. Each result has the missing verbs, and a name if only some
// names are missing. user is a name such as system:serviceaccount:kanon-system:kanon; empty: the client's own user. The
// error says that the API server did not answer.
func MissingRights(ctx context.Context, client authorizationclient.AuthorizationV1Interface, rights *Rights, user string) ([]Right, error) {
	var missing []Right
	for _, right := range rights.Sorted() {
		names := right.Names
		if len(names) == 0 {
			names = []string{""}
		}
		for _, name := range names {
			var verbs []string
			for _, verb := range right.Verbs {
				resource, subresource, _ := strings.Cut(right.Resource, "/")
				allowed, err := ask(ctx, client, user, authorizationv1.ResourceAttributes{
					Namespace: right.Namespace, Verb: verb, Group: right.Group, Resource: resource, Subresource: subresource, Name: name,
				})
				if err != nil {
					return nil, err
				}
				if !allowed {
					verbs = append(verbs, verb)
				}
			}
			if lacking := right; len(verbs) > 0 {
				if lacking.Verbs, lacking.Names = verbs, nil; name != "" {
					lacking.Names = []string{name}
				}
				missing = append(missing, lacking)
			}
		}
	}
	return missing, nil
}

func ask(ctx context.Context, client authorizationclient.AuthorizationV1Interface, user string, attributes authorizationv1.ResourceAttributes) (bool, error) {
	var status authorizationv1.SubjectAccessReviewStatus
	var err error
	if user == "" {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
		review, err = client.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		status = review.Status
	} else {
		spec := authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &attributes, User: user, Groups: groupsOf(user)}
		review := &authorizationv1.SubjectAccessReview{Spec: spec}
		review, err = client.SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		status = review.Status
	}
	if err != nil {
		return false, fmt.Errorf("ask the API server for rights of %s: %w", cmp.Or(user, "the user"), err)
	}
	return status.Allowed, nil
}

// groupsOf are the groups that API servers assign to a ServiceAccount.
func groupsOf(user string) []string {
	parts := strings.Split(user, ":")
	if len(parts) != 4 || parts[0] != "system" || parts[1] != "serviceaccount" {
		return nil
	}
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + parts[2], "system:authenticated"}
}

// FullResource is the resource in kubectl's notation, such as deployments.apps/status.
func (r *Right) FullResource() string {
	resource, subresource, hasSubresource := strings.Cut(r.Resource, "/")
	if r.Group != "" {
		resource += "." + r.Group
	}
	if hasSubresource {
		resource += "/" + subresource
	}
	return resource
}

// Purpose says what the right is for, such as "children of foo".
func (r *Right) Purpose() string { return purpose(r.For) }
