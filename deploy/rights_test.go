package deploy_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
)

const user = "system:serviceaccount:" + namespace + ":" + serviceAccount

// right is one verb on one resource, with a subresource as RESOURCE/SUBRESOURCE.
type right struct{ group, resource, verb string }

// readAuditLog lists what the ServiceAccount requested, by namespace, and reports
// what it was refused.
func readAuditLog(t *testing.T, path string) (used map[string][]right) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	used = make(map[string][]right)
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("decode %s: %v", line, err)
		}
		if event.User.Username != user {
			continue
		}
		if event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusForbidden {
			if event.Verb == "patch" && event.ObjectRef != nil && event.ObjectRef.Resource == "customresourcedefinitions" {
				continue // an administrator applies these
			}
			t.Errorf("the roles do not allow %s %s", event.Verb, event.RequestURI)
		}
		if o := event.ObjectRef; o != nil && o.Resource != "" {
			r := right{o.APIGroup, strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/"), event.Verb}
			used[o.Namespace] = append(used[o.Namespace], r)
		}
	}
	return used
}

// compareRights checks that everything that the base's roles allow was used.
func compareRights(t *testing.T, client kubernetes.Interface, used map[string][]right) {
	t.Helper()
	role, err := client.RbacV1().Roles(namespace).Get(t.Context(), "kanon-rules", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inNamespace := rightsOf(role.Rules)
	checkUsed(t, "Role kanon-rules", inNamespace, used[namespace])

	// What the Role allows does not show that a ClusterRole is needed.
	var elsewhere []right
	for where, rights := range used {
		for _, r := range rights {
			if where != namespace || !slices.Contains(inNamespace, r) {
				elsewhere = append(elsewhere, r)
			}
		}
	}
	for _, name := range []string{"kanon", "kanon-examples"} {
		clusterRole, err := client.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		checkUsed(t, "ClusterRole "+name, rightsOf(clusterRole.Rules), elsewhere)
	}
}

func rightsOf(rules []rbacv1.PolicyRule) []right {
	var rights []right
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					rights = append(rights, right{group, resource, verb})
				}
			}
		}
	}
	return rights
}

// checkUsed checks that each right was used. The three verbs of reading count as
// one: they show the same, and which of them an informer sends is its affair.
func checkUsed(t *testing.T, role string, rights, used []right) {
	t.Helper()
	reading := []string{"get", "list", "watch"}
	for _, r := range rights {
		isUsed := slices.ContainsFunc(used, func(u right) bool {
			same := u.verb == r.verb || slices.Contains(reading, u.verb) && slices.Contains(reading, r.verb)
			return u.group == r.group && u.resource == r.resource && same
		})
		if r.verb == "bind" {
			// Nobody requests that: the API server asks it of whoever makes a binding.
			isUsed = slices.Contains(used, right{r.group, "rolebindings", "create"})
		}
		if !isUsed {
			t.Errorf("%s allows %s of %q in group %q, which was never used", role, r.verb, r.resource, r.group)
		}
	}
}

// checkRefusals checks some rights that would make Kanon a way to more power.
func checkRefusals(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	tests := map[string]authorizationv1.ResourceAttributes{
		"read Secrets":             {Verb: "get", Resource: "secrets"},
		"list Secrets":             {Verb: "list", Resource: "secrets", Namespace: namespace},
		"create Pods":              {Verb: "create", Resource: "pods"},
		"run commands in Pods":     {Verb: "create", Resource: "pods", Subresource: "exec"},
		"make tokens":              {Verb: "create", Resource: "serviceaccounts", Subresource: "token"},
		"change Namespaces":        {Verb: "patch", Resource: "namespaces"},
		"delete Namespaces":        {Verb: "delete", Resource: "namespaces"},
		"write definitions":        {Verb: "patch", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		"write ClusterRoles":       {Verb: "create", Group: rbacv1.GroupName, Resource: "clusterroles"},
		"write ClusterRoleBinding": {Verb: "create", Group: rbacv1.GroupName, Resource: "clusterrolebindings"},
		"bind cluster-admin":       {Verb: "bind", Group: rbacv1.GroupName, Resource: "clusterroles", Name: "cluster-admin"},
		"escalate roles":           {Verb: "escalate", Group: rbacv1.GroupName, Resource: "clusterroles"},
		"impersonate users":        {Verb: "impersonate", Resource: "users"},
		"write specs of parents":   {Verb: "patch", Group: "shop.example.com", Resource: "webapps"},
	}
	for name, attributes := range tests {
		if isAllowed(t, client, attributes) {
			t.Errorf("Kanon may %s", name)
		}
	}
	// The question is asked well: what it may do is answered with yes.
	if !isAllowed(t, client, authorizationv1.ResourceAttributes{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "default"}) {
		t.Error("Kanon may not create Deployments")
	}
}

func isAllowed(t *testing.T, client kubernetes.Interface, attributes authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               user,
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			ResourceAttributes: &attributes,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}
