package source

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// Listed is an origin as read once: a ConfigMap or a Rule object, with Kanon's report on it.
type Listed struct {
	Bundle
	// Object is the ConfigMap or the Rule object.
	Object *unstructured.Unstructured
	// Report is nil if the origin has none, or only one about an earlier generation.
	Report *Report
}

// ListConfigMaps reads the ConfigMaps with rules in a namespace once.
func ListConfigMaps(ctx context.Context, client dynamic.Interface, namespace string) ([]Listed, error) {
	list, err := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(namespace).
		List(ctx, metav1.ListOptions{LabelSelector: LabelRules + "=true"})
	if err != nil {
		return nil, fmt.Errorf("list the ConfigMaps with rules: %w", err)
	}
	found := make([]Listed, len(list.Items))
	for i := range list.Items {
		object := &list.Items[i]
		found[i] = Listed{Bundle: bundleOf(object), Object: object}
		var report Report
		if json.Unmarshal([]byte(found[i].Verdict), &report) == nil { // else Kanon did not write it
			report.Parents, report.Children = -1, -1
			found[i].Report = &report
		}
	}
	return found, nil
}

// ListRuleObjects reads the Rule objects of a namespace once. If the cluster lacks the kind, there are none.
func ListRuleObjects(ctx context.Context, client dynamic.Interface, namespace string) ([]Listed, error) {
	list, err := client.Resource(RulesGVR()).Namespace(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list the Rule objects: %w", err)
	}
	var found []Listed
	for i := range list.Items {
		object := &list.Items[i]
		bundle, err := bundleOfRule(object)
		if err != nil {
			return nil, err
		}
		found = append(found, Listed{Bundle: bundle, Object: object, Report: reportOf(object)})
	}
	return found, nil
}

// reportOf returns the report in the status of a Rule object; nil if there is none or it is about an earlier
// generation.
func reportOf(object *unstructured.Unstructured) *Report {
	ready := readyOf(object)
	if generation, ok := ready["observedGeneration"].(int64); ready == nil || ok && generation != object.GetGeneration() {
		return nil
	}
	text := func(field string) string { value, _ := ready[field].(string); return value }
	rule := RuleReport{Name: object.GetName(), Ready: text("status") == "True", Reason: text("reason"), Message: text("message")}
	return &Report{
		Ready: rule.Ready, Message: rule.Message, Rules: []RuleReport{rule},
		Parents: int(numberOf(object, "parents")), Children: int(numberOf(object, "children")),
	}
}
