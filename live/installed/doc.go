// Package installed reads the rules of a cluster, and what Kanon reports on them. It changes nothing.
//
// Rules are in ConfigMaps and Rule objects in Kanon's namespace, and in files that only the running Kanon reads. For a
// rule in a file, the cluster has only a record:
//
//	rules, err := installed.List(ctx, client, "kanon-system")
//	rule, err := rules.Find("webapp")               // or NAMESPACE/NAME
//	fmt.Println(rule.State, rule.Message)           // Running, Suspended, PruneHeld, Refused, …
//
// A rule is compiled on demand, against the kinds and schemas of the cluster, as Kanon does it. This finds the rules
// that may select an object, and compiles them:
//
//	for _, rule := range rules.Selecting(object, installed.NamespaceLabels(ctx, client)) {
//		program, findings, err := rule.Compile(ctx, kinds, limits)
//	}
//
// The program is that of the rule's text. If the text has mistakes, Kanon runs an earlier revision, which the cluster
// does not have.
//
// rules.go combines texts, reports and records. state.go decides the state of a rule. find.go finds rules. objects.go
// reads the parents and the children of a rule. absent.go suggests names for objects that do not exist.
package installed
