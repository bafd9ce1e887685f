// Package workbench is where kanon eval evaluates: over objects in files, or over those of a cluster.
//
//	bench := workbench.Options{Parent: "webapp/storefront", Rule: "webapp", KanonNamespace: "kanon-system", Now: time.Now()}
//	session, err := bench.Open(cmd)
//	result, findings := session.Eval("children.service.spec.clusterIP")
//
// Package console evaluates; here is decided what expressions know: the rule, the parent, and where the objects come from that the
// rule reads.
package workbench
