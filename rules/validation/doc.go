// Package validation finds mistakes in a template that the API server refuses, whatever the values of expressions are:
// constraints between fields that no schema of Kubernetes has.
//
//	validation.Check(validation.Input{
//		Template: spec.Template, Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"},
//		Report:   func(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding { … },
//	})
//	// KN0424: spec.selector.matchLabels.app is web, and spec.template.metadata.labels has no app
//
// It only reports what is certain: it compares literals, and expressions with the same text. If part of a mapping or a
// list comes from an expression, it reports no missing fields or items. A test in kinds/openapi/builtin asks a real API
// server: it must refuse the test templates with findings, and accept the others.
//
// selector.go checks selectors and the labels of Pods, pods.go the spec of Pods, objects.go Services, CronJobs,
// ConfigMaps and Secrets. written.go has helpers that say what is certain about a node.
package validation
