// Package catalog decides which revision of each rule runs. It turns the texts that sources
// publish into compiled rules, keeps the last good revision of each, and reports on every
// origin: a ConfigMap, a Rule object or a file.
//
//	inbox := catalog.NewInbox(len(sources)) // sources and the mapper put changes into it
//	c := catalog.New(catalog.Options{Kinds: mapper, Schemas: reader, Definitions: writer, RuleID: mark.RuleID}, time.Now())
//	for range inbox.Ready() {
//		c.Update(inbox.Take(), time.Now())
//		for _, rule := range c.Rules() {
//			if rule.Program != nil {
//				start(rule.ID, rule.Program)
//			}
//		}
//		reports, again := c.Reports(starting, failing, time.Now())
//	}
//
// An example. ConfigMap one defines rule web, which compiles and runs. An edit has a typing
// error: the report on one names it, and the last good revision keeps running. ConfigMap two
// then defines web as well: web stays with one, because it had the name first, and the report
// on two says that the name is taken. When one is deleted, web passes to two. When two is
// deleted as well, [Catalog.Removed] is true of web, but only if every source was read whole.
//
// A rule may need something first: a CustomResourceDefinition of its own text, or the schema
// of a kind. Until that is there, the revision waits and the one before it keeps running. For
// a grace period nothing is reported of an origin that waits, so that a restart changes no
// report.
//
// The package sends no request, reads no clock and writes no log. It asks a [SchemaReader] for
// schemas and a [DefinitionWriter] for definitions, and takes in what they answer at the next
// update. One goroutine owns a Catalog; only an [Inbox] may be used by several.
//
// catalog.go is one update, and revisions.go which revision of a rule runs. texts.go decodes texts, names.go says which of several
// texts has a name, tenants.go which rules are confined to a namespace, and clashes.go which rules are in each other's way. kinds.go,
// schemas.go and definitions.go are what a rule may need first. reports.go has the reports, grace.go when there is none yet, and
// summary.go figures. inbox.go takes in changes.
package catalog
