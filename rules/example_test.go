package rules_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

const example = `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata:
  name: greeting
spec:
  parent: {apiVersion: shop.example.com/v1, kind: WebApp}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {greeting: "Hello, ${parent.spec.who}"}
  status:
    config: ${children.config.metadata.name}
    uid: ${children.config.metadata.uid}
`

func Example() {
	docs, findings := syntax.Decode("greeting.yaml", []byte(example))
	if findings.HasErrors() {
		fmt.Println(findings.Err())
		return
	}
	compiled, findings := rules.Compile(docs.Rules[0], rules.Options{})
	if compiled == nil {
		fmt.Println(findings.Err())
		return
	}
	parent := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "shop.example.com/v1", "kind": "WebApp",
		"metadata": map[string]any{"name": "shop", "namespace": "team-a"},
		"spec":     map[string]any{"who": "world"},
	}}
	ev := compiled.Evaluate(context.Background(), program.Input{Parent: parent, Now: time.Now()})
	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
		for _, node := range batch {
			for _, object := range node.Objects {
				data, _, _ := unstructured.NestedString(object.Object, "data", "greeting")
				fmt.Printf("%s: %s/%s says %q\n", node.Node, object.GetNamespace(), object.GetName(), data)
			}
			ev.Applied(node.Node, node.Objects) // a cluster would add a uid
		}
	}
	out := ev.Result()
	fmt.Println(out.Nodes[0].State, out.Status, out.StatusWaiting)
	// Output:
	// config: team-a/shop says "Hello, world"
	// Applied map[config:shop] [status.uid: children.config.metadata.uid has no value yet]
}

func Example_findings() {
	docs, findings := syntax.Decode("rule.yaml", []byte(`apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: v1, kind: ConfigMap, selctor: {}}
  status: {home: "${HOME}", name: "${parnt.metadata.name}"}
`))
	for _, rule := range slices.Concat(docs.Rules, docs.Partial) {
		_, more := rules.Compile(rule, rules.Options{})
		findings = append(findings, more...)
	}
	for _, f := range findings {
		fmt.Println(f) // one line each; a Printer shows the place too
	}
	// Output:
	// rule.yaml:5:45: error: unknown field "selctor" in spec.parent; did you mean "selector"? [KN0101]
	// rule.yaml:6:21: error: unknown name "HOME"; to write ${HOME} as text, write $${HOME} [KN0204]
	// rule.yaml:6:38: error: unknown name "parnt"; did you mean "parent"? [KN0204]
}
