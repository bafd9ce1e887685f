package supportbundle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/offline/report"
	"kanon.dev/kanon/rules/program/template"
)

// mostObjects bounds the parents, and the children, that are listed of a rule.
const mostObjects = 500

// addRules adds the rules, the compiler's findings, and the objects that are not ready.
func (c *collector) addRules(ctx context.Context) {
	all, err := installed.List(ctx, c.Client, c.Namespace)
	if err != nil {
		c.lacks("rules.txt", err)
		return
	}
	kinds, err := manifests.ClusterKinds(ctx, c.Config)
	if err != nil {
		c.lacks("findings/, parents/ and children/", err)
	}
	for _, rule := range all.All {
		if rule.Object != nil {
			name := strings.ToLower(rule.Object.GetKind()) + "-" + rule.Object.GetNamespace() + "-" + rule.Object.GetName()
			c.addObject("rules/"+name+".yaml", rule.Object)
		}
		if kinds != nil {
			c.addRule(ctx, rule, kinds)
		}
	}
	c.addList("rules.txt", installed.ListOf(all.All, c.Now))
	for _, problem := range all.Problems {
		c.lacks("rules.txt", fmt.Errorf("%s: %s", problem.Where, problem.Message))
	}
}

// addRule adds the files of one rule.
func (c *collector) addRule(ctx context.Context, rule *installed.Rule, kinds *manifests.Kinds) {
	file := rule.Name.Namespace + "-" + rule.Name.Name + ".txt"
	if rule.Decoded != nil {
		_, findings, err := rule.Compile(ctx, kinds, c.Namespace, template.Limits{})
		var text strings.Builder
		if err == nil {
			err = report.Report{Findings: findings}.Write(&text, report.Text)
		}
		c.lacks("findings/"+file, err)
		c.addText("findings/"+file, text.String())
	}
	reader := &installed.Reader{Client: c.Client, Kinds: kinds}
	c.lacks("the counts of rule "+rule.Name.String(), reader.Count(ctx, rule))
	parents, err := reader.Parents(ctx, rule, installed.Query{})
	c.lacks("parents/"+file, err)
	parents = slices.DeleteFunc(parents, func(p installed.Parent) bool { return p.Ready == string(metav1.ConditionTrue) })
	if len(parents) > 0 {
		c.addList("parents/"+file, installed.ParentList(parents[:min(len(parents), mostObjects)], true, c.Now))
	}
	children, err := reader.Children(ctx, rule, installed.Query{})
	c.lacks("children/"+file, err)
	children = slices.DeleteFunc(children, func(child installed.Child) bool { return child.Ready == string(metav1.ConditionTrue) })
	if len(children) > 0 {
		c.addList("children/"+file, installed.ChildList(children[:min(len(children), mostObjects)], true, c.Now))
	}
}

// addRecords adds the records of rules, without the seals.
func (c *collector) addRecords(ctx context.Context) {
	list, err := c.Client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(c.Namespace).
		List(ctx, metav1.ListOptions{LabelSelector: record.Label + "=true"})
	if err != nil {
		c.lacks("records/", err)
		return
	}
	for i := range list.Items {
		object := &list.Items[i]
		unstructured.RemoveNestedField(object.Object, "data", "seal")
		c.addObject("records/"+object.GetName()+".yaml", object)
	}
}

// addObject adds an object without managedFields and the last-applied annotation.
func (c *collector) addObject(file string, object *unstructured.Unstructured) {
	object = object.DeepCopy()
	object.SetManagedFields(nil)
	annotations := object.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	object.SetAnnotations(annotations)
	c.addYAML(file, c.values.Object(object.Object))
}
