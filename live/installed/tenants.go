package installed

import (
	"cmp"
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
)

// isTenant reports whether the namespace of a text is a tenant's. own is Kanon's. A file has no namespace.
func isTenant(namespace, own string) bool { return namespace != "" && namespace != own }

// listTenants lists the origins in tenants' namespaces for which Kanon has records. It leaves out those that the user
// may not list, and adds a Problem for them.
func (r *Rules) listTenants(ctx context.Context, client dynamic.Interface, records []record.Listed) ([]source.Listed, error) {
	namespaces := make(sets.Set[string])
	for i := range records {
		if namespace := records[i].Origin.Namespace; records[i].Confined && isTenant(namespace, r.Namespace) {
			namespaces.Insert(namespace)
		}
	}
	if len(namespaces) == 0 {
		return nil, nil
	}
	all, err := listOrigins(ctx, client, metav1.NamespaceAll)
	if err == nil {
		return slices.DeleteFunc(all, func(origin source.Listed) bool { return !namespaces.Has(origin.Origin.Namespace()) }), nil
	}
	if !apierrors.IsForbidden(err) {
		return nil, err
	}
	for _, namespace := range sets.List(namespaces) {
		found, err := listOrigins(ctx, client, namespace)
		if apierrors.IsForbidden(err) {
			r.unread.Insert(namespace)
			r.Problems = append(r.Problems, Problem{Where: "rules in namespace " + namespace, Message: "they cannot be listed: " + reasonOf(err)})
		} else if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// listOrigins lists the ConfigMaps with rules and the Rule objects of a namespace. It fails if either cannot be listed.
func listOrigins(ctx context.Context, client dynamic.Interface, namespace string) ([]source.Listed, error) {
	configMaps, err1 := source.ListConfigMaps(ctx, client, namespace)
	objects, err2 := source.ListRuleObjects(ctx, client, namespace)
	if err := cmp.Or(err1, err2); err != nil { // the errors mostly have the same cause
		return nil, err
	}
	return append(configMaps, objects...), nil
}
