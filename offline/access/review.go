package access

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// Missing asks an API server which rights a user lacks. Each result has the missing verbs, and a name if only some
// names are missing. user is a name such as system:serviceaccount:kanon-system:kanon; empty: the client's own user. The
// error says that the API server did not answer.
func Missing(ctx context.Context, client authorizationclient.AuthorizationV1Interface, rights *Rights, user string) ([]Right, error) {
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
	if user == "" {
		review, err := client.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes},
		}, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("ask the API server for rights: %w", err)
		}
		return review.Status.Allowed, nil
	}
	review, err := client.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &attributes, User: user, Groups: groupsOf(user)},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask the API server for rights of %s: %w", user, err)
	}
	return review.Status.Allowed, nil
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
