// Package validation finds what the API server would refuse in a template whatever its expressions give: rules between fields that
// no schema of Kubernetes tells.
//
//	validation.Check(validation.Input{
//		Template: spec.Template, Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"},
//		Report:   func(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding { … },
//	})
//	// KN0424: spec.selector.matchLabels.app is web, and spec.template.metadata.labels has no app
//
// Only what is certain counts: literals, and expressions with the very same text. Where part of a mapping or a list comes from an
// expression, nothing is said of what it may lack. What is found here is refused by a real API server, which a test asks; what it
// accepts is not found.
//
// selector.go has selectors and the labels of Pods, pods.go what is in Pods, objects.go Services, CronJobs, ConfigMaps and Secrets, and
// written.go what can be seen of a node.
package validation
