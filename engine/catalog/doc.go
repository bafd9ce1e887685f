// Package catalog decides which revision of each rule runs. It compiles the rule texts that sources publish, keeps
// the last good revision of each rule, and reports on every origin: a ConfigMap, a Rule object or a file.
//
//	inbox := catalog.NewInbox(counter, len(sources)) // sources and the mapper put changes into it
//	c := catalog.New(catalog.Options{
//		Kinds: mapper, Schemas: reader, Definitions: writer, Namespace: "kanon-system",
//		RuleID: mark.RuleID, Recorded: records.Names, Annotations: records.Annotations,
//	}, time.Now())
//	// ... whenever inbox.Bell() rings:
//	c.Update(inbox.Take(), time.Now())
//	for _, rule := range c.Rules() {
//		if rule.Program != nil {
//			start(rule.ID, rule.Program)
//		}
//	}
//	reports, again := c.Reports(starting, failing, time.Now())
//
// An example. ConfigMap one defines rule web, which compiles and runs. An edit introduces a typing error: the report
// on one names it, and the last good revision keeps running. ConfigMap two then defines web as well. Web stays with
// one, which had the name first, and the report on two says that the name is taken. When one is deleted, web passes
// to two. When two is deleted as well, [Catalog.Removed] is true of web, provided that a record of web exists.
//
// A rule may need something first: a CustomResourceDefinition in its own text, or the schema of a kind. Until then
// the revision waits and the previous one keeps running. An origin that waits is not reported on during a grace
// period, so that a restart changes no report.
//
// A Catalog sends no requests, reads no clock and writes no log. It asks a [SchemaReader] for schemas and a
// [DefinitionWriter] to apply definitions, and takes in their answers at the next update. They send the requests in the
// background, each with a deadline, and so does the [Reporter], which writes the reports to the origins of rules. One
// goroutine owns a Catalog; what works in the background, and an [Inbox], is safe for concurrent use.
//
// What each file does:
//
//	catalog.go      the update, and what a revision waits for
//	revisions.go    which revision of a rule runs
//	texts.go        decodes texts
//	names.go        which text owns a rule's name
//	tenants.go      confines rules to a namespace
//	clashes.go      warns of rules that run and conflict; it refuses none. Which rule gets an object is decided when it
//	                is written, in engine/apply/owner.go
//	kinds.go        the kinds of the cluster, for the compiler
//	schemas.go      schemas that a rule waits for; schemareader.go reads them
//	definitions.go  CustomResourceDefinitions in the texts of rules; definitionwriter.go applies them
//	reports.go      the reports; reporter.go writes them to the origins of rules, and events.go emits the Events
//	grace.go        delays reports after a start
//	summary.go      counts findings
//	inbox.go        collects changes
//	requests.go     sends requests by key
package catalog
