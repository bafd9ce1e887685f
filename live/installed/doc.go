// Package installed reads which rules a cluster has, and what Kanon reports on them. It changes nothing.
//
// Rules are in ConfigMaps and Rule objects in Kanon's namespace, and in files that only the process of Kanon sees. Of those, the
// cluster has no more than a record:
//
//	rules, err := installed.List(ctx, client, "kanon-system")
//	rule, err := rules.Find("webapp")               // or NAMESPACE/NAME
//	fmt.Println(rule.State, rule.Message)           // Running, Suspended, PruneHeld, Refused, …
//
// A rule is compiled on demand, against the kinds and schemas of the cluster as Kanon does it. Which rules are for an object, and
// what they are:
//
//	for _, rule := range rules.Selecting(object, installed.NamespaceLabels(ctx, client)) {
//		program, findings, err := rule.Compile(ctx, kinds, limits)
//	}
//
// The program is that of the rule's text. If the text has mistakes, Kanon runs an earlier one, which the cluster does not have.
//
// rules.go brings texts, reports and records together; state.go says how a rule fares; find.go finds rules; objects.go reads the
// parents and the children of a rule. absent.go says what was meant by a name that a cluster does not have.
package installed
