// Package live reads a cluster for commands: its rules and what Kanon reports on them, their parents and children, the
// Events, and why a field has its value. It also does what people ask of a running Kanon.
//
// Rules are in ConfigMaps and Rule objects in Kanon's namespace, and in files that only the running Kanon reads. For a
// rule in a file, the cluster has only a record:
//
//	rules, err := live.ListRules(ctx, client, "kanon-system")
//	rule, err := rules.Find("webapp")               // or NAMESPACE/NAME
//	fmt.Println(rule.State, rule.Message)           // Running, Suspended, PruneHeld, Refused, …
//
// rules.go combines texts, reports and records, and state.go decides the state of a rule. [Rules.Add] adds rules in files
// of the user. A [Compiler] compiles each rule once, on demand, against the kinds of the cluster, as Kanon does. The
// program is that of the rule's text. If the text has mistakes, Kanon runs an earlier revision, which the cluster does
// not have.
//
// A [Reader] reads the parents and the children of a rule, each as an [Item] (objects.go), [EventLog] the Events that
// Kanon emitted, and [Follow] goes on with what changes (follow.go). A [Printer] prints lists of them as kubectl does: a
// row has cells for people and a value for programs, without contents of Secrets.
//
// An [Inquirer] finds the rules that write to an object (inquiry.go): the mark of a child names the rule and the
// parent, a field manager names the patch of a rule, and a rule writes to the status of the parents that it selects.
//
// A [Desk] suspends and resumes rules, and confirms what the prune guard blocks. It writes what Kanon reads, with a
// field manager of its own. A rule in a ConfigMap is text: text.go changes a single line of it, and keeps comments and
// layout. A [Request] has parents reconciled, and waits for the Events in which Kanon answers.
//
// [CollectBundle] collects in one archive what is needed to find out why Kanon does what it does (bundle.go). It leaves
// out and names what the user may not read, and hides the values of all Secrets.
package live
