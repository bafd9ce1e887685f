// Package operations does what people ask of a running Kanon: it suspends and resumes rules and parents, has parents
// reconciled now, and confirms what the prune guard blocks. It writes what Kanon reads, with a field manager of its
// own:
//
//	rule, err := rules.Find("webapp")
//	desk := operations.Desk{Client: client}
//	change, err := desk.SuspendRule(ctx, rule, true)  // spec.suspend, wherever the rule is
//	fmt.Println(change.Where, change.Warnings)        // configmap/kanon-system/webapp, key rule.yaml
//
// A rule in a ConfigMap is text. text.go changes a single line of it, and keeps comments and layout. A rule in a file
// of Kanon's cannot be changed from here, but its record can be annotated, and Kanon reads that.
//
// Reconcile writes a request to each parent and waits for the Events in which Kanon answers; package request defines
// both. alive.go explains why Kanon may not answer.
package operations
