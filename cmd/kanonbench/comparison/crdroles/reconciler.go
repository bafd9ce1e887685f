// Package crdroles is examples/crd-roles in Go.
package crdroles

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler keeps the ClusterRoles of each annotated CustomResourceDefinition.
type Reconciler struct{ client.Client }

// Reconcile brings the ClusterRoles of one definition up to date, and removes them with the annotation.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := r.Get(ctx, req.NamespacedName, &definition); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !definition.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	for _, name := range []string{"view", "edit", "admin"} {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: definition.Name + "-" + name}}
		sync := r.apply
		if definition.Annotations["example.com/default-roles"] != "yes" {
			sync = r.remove
		}
		if err := sync(ctx, &definition, name, role); err != nil {
			return ctrl.Result{}, fmt.Errorf("role %s: %w", role.Name, err)
		}
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) apply(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition, name string, role *rbacv1.ClusterRole) error {
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, role, func() error {
		if role.Labels == nil {
			role.Labels = map[string]string{}
		}
		role.Labels["rbac.authorization.k8s.io/aggregate-to-"+name] = "true"
		plural := definition.Spec.Names.Plural
		role.Rules = []rbacv1.PolicyRule{{
			APIGroups: []string{definition.Spec.Group},
			Resources: []string{plural, plural + "/status"},
			Verbs:     verbs(name),
		}}
		return controllerutil.SetControllerReference(definition, role, r.Scheme())
	})
	return err
}

func (r *Reconciler) remove(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition, _ string, role *rbacv1.ClusterRole) error {
	if err := r.Get(ctx, client.ObjectKeyFromObject(role), role); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !metav1.IsControlledBy(role, definition) {
		return nil
	}
	return client.IgnoreNotFound(r.Delete(ctx, role, client.Preconditions{UID: &role.UID}))
}

func verbs(name string) []string {
	read := []string{"get", "list", "watch"}
	switch name {
	case "edit":
		return append(read, "create", "update", "patch", "delete")
	case "admin":
		return append(read, "create", "update", "patch", "delete", "deletecollection")
	default:
		return read
	}
}

// SetupWithManager watches definitions and their ClusterRoles.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&apiextensionsv1.CustomResourceDefinition{}).
		Owns(&rbacv1.ClusterRole{}).
		Complete(r)
}
