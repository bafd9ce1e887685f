// Package workbench sets up the evaluation of kanon eval, with objects from files or from a cluster.
//
//	bench := workbench.Options{Parent: "webapp/storefront", Rule: "webapp", KanonNamespace: "kanon-system", Now: time.Now()}
//	session, err := bench.Open(cmd)
//	result, findings := session.Eval("children.service.spec.clusterIP")
//
// It finds the rule, the parent, and the objects that the rule reads. Package console does the evaluation.
package workbench
