// Package background sends the requests that the catalog of rules asks for and does not wait
// for. A request that hangs therefore delays only the rules that need it.
//
// A [Queue] runs requests by key: one at a time for each key, several keys at once, with a
// growing pause after a failure. Keys that may hang together, such as the kinds of one
// aggregated API group, share a lane, which has only some of the workers. Three users have a
// queue each:
//
//   - [SchemaReader] reads the schemas of kinds,
//   - [DefinitionWriter] applies the CustomResourceDefinitions that are beside rules in a text, and those that schemas of rules make,
//     as far as package kinds/definitions/keeper allows it,
//   - [Reporter] gives each origin its report, and puts it into the log and the Events.
//
// The first two implement interfaces of package catalog, which takes in what they bring at its
// next update:
//
//	reader := background.NewSchemaReader(mapper, published, client, inbox.Notify)
//	go reader.Run(ctx)
//	reader.Read(gvk, nil)       // returns at once
//	<-inbox.Ready()             // the schema has arrived, or an error
//	read := reader.Take(used)
//
// Each request has a deadline. The package decides nothing about rules.
package background
