// Package background sends the requests that the catalog of rules asks for and does not wait for. So a request that
// hangs delays only the rules that need it.
//
// A [Queue] sends requests by key: one at a time for each key, several keys in parallel, with a growing pause after a
// failure. Keys that may hang together, such as the kinds of one aggregated API group, share a lane, which has only
// some of the workers. Three users have a queue each:
//
//   - [SchemaReader] reads the schemas of kinds,
//   - [DefinitionWriter] applies the CustomResourceDefinitions in a text with rules, and those made of rules' schemas,
//     as far as package kinds/definitions/keeper allows it,
//   - [Reporter] writes the reports to the origins of rules, and puts them into the log and the Events.
//
// The first two implement interfaces of package catalog, which takes their results at its next update:
//
//	reader := background.NewSchemaReader(counter, mapper, published, client, inbox.Notify)
//	go reader.Run(ctx)
//	reader.Read(gvk, nil)       // returns at once
//	<-inbox.Ready()             // the schema has arrived, or an error
//	read := reader.Take(used)
//
// Each request has a deadline. The package makes no decisions about rules.
//
// What each file does:
//
//	queue.go        sends requests by key, in lanes
//	schemas.go      reads schemas
//	definitions.go  applies CustomResourceDefinitions
//	reporter.go     writes reports to the origins of rules
//	events.go       Events about rules
package background
