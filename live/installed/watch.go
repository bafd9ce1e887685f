package installed

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/live/follow"
)

// Watches starts watches of everything that List reads. It leaves out Rule objects if the cluster does not have the
// kind, or if they may not be read.
func Watches(ctx context.Context, client dynamic.Interface, namespace string) ([]follow.Watch, error) {
	configMaps := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(namespace)
	texts, err1 := startAnywhere(ctx, client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")), namespace, source.LabelRules+"=true")
	records, err2 := follow.Start(ctx, configMaps, metav1.ListOptions{LabelSelector: record.Label + "=true"})
	objects, err3 := startAnywhere(ctx, client.Resource(source.RulesGVR()), namespace, "")
	watches := []follow.Watch{texts, records, objects}
	if apierrors.IsNotFound(err3) || apierrors.IsForbidden(err3) {
		watches, err3 = watches[:2], nil
	}
	return watches, errors.Join(err1, err2, err3)
}

// startAnywhere watches all namespaces, where tenants may have rules, or a single one if the user may not watch the
// others.
func startAnywhere(ctx context.Context, resource dynamic.NamespaceableResourceInterface, namespace, selector string) (follow.Watch, error) {
	options := metav1.ListOptions{LabelSelector: selector}
	w, err := follow.Start(ctx, resource, options)
	if apierrors.IsForbidden(err) {
		return follow.Start(ctx, resource.Namespace(namespace), options)
	}
	return w, err
}

// ParentWatches starts watches of everything that Parents reads. Pass what they report to ParentOf.
func (r *Reader) ParentWatches(ctx context.Context, rule *Rule, q Query) ([]follow.Watch, error) {
	resource, err := r.Resource(rule.ParentKind(), q.Namespace)
	if err != nil {
		return nil, err
	}
	w, err := follow.Start(ctx, resource, rule.parentOptions(q))
	return []follow.Watch{w}, err
}

// ParentOf returns an object as a parent of a rule; false if the rule does not select it.
func (r *Reader) ParentOf(ctx context.Context, rule *Rule, object *unstructured.Unstructured) (Parent, bool) {
	return rule.ParentOf(object), r.Selects(ctx, rule, object)
}

// ChildWatches starts watches of everything that Children reads. Pass what they report to ChildOf. It leaves out kinds
// that the cluster does not have.
func (r *Reader) ChildWatches(ctx context.Context, rule *Rule, q Query) ([]follow.Watch, error) {
	var watches []follow.Watch
	for _, gvk := range rule.childKinds() {
		resource, err := r.Resource(gvk, q.Namespace)
		if err != nil {
			continue
		}
		w, err := follow.Start(ctx, resource, rule.childOptions(q))
		if err != nil {
			return nil, err
		}
		watches = append(watches, w)
	}
	return watches, nil
}

// ChildOf returns an object as a child of a rule; false if it is none.
func (rule *Rule) ChildOf(object *unstructured.Unstructured) (Child, bool) {
	child := childOf(object)
	return child, child.Owner.RuleID == rule.ID
}
