package kanontest

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// report logs the step that failed, and what the cluster reports about the applied objects.
func (p *play) report() {
	p.Helper()
	var text strings.Builder
	if p.step != nil {
		fmt.Fprintf(&text, "%s fails at: %s\n", p.scenario.dir, p.step.Name)
	}
	namespaces := []string{p.Namespace(), "default"}
	names := map[string]bool{}
	for _, obj := range p.applied {
		names[obj.GetName()] = true
		if namespace := obj.GetNamespace(); namespace != "" && !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
		if p.IsThere(obj) {
			p.reportConditions(&text, p.Get(obj))
		}
	}
	for _, namespace := range namespaces {
		for _, event := range p.List("v1", "Event", namespace) {
			about, _, _ := unstructured.NestedStringMap(event.Object, "involvedObject")
			ours := namespace != "default" || names[about["name"]]
			if component, _, _ := unstructured.NestedString(event.Object, "source", "component"); ours && component == "kanon" {
				fmt.Fprintf(&text, "event %s of %s %s/%s: %s\n",
					event.Object["reason"], about["kind"], about["namespace"], about["name"], event.Object["message"])
			}
		}
	}
	p.Log(text.String())
}

func (p *play) reportConditions(text *strings.Builder, live *unstructured.Unstructured) {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, item := range conditions {
		if c, ok := item.(map[string]any); ok {
			fmt.Fprintf(text, "%s %s is %s=%v (%v): %v\n", live.GetKind(), live.GetName(), c["type"], c["status"], c["reason"], c["message"])
		}
	}
}
