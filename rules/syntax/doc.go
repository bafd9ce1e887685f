// Package syntax decodes rules from YAML to a [Rule], whose parts know their positions. It does not know what expressions mean.
//
// Decoding is strict. An unknown field is a finding, and so is a missing one. A misspelt field is decoded as the one that is probably
// meant, so that the mistakes below it are found as well:
//
//	docs, findings := syntax.Decode("webapp.yaml", data)
//	for _, rule := range docs.Rules {
//		for i := range rule.Children {
//			child := &rule.Children[i] // child.ID, child.When, child.Template, …
//		}
//	}
//
// A rule with a finding is in docs.Partial. It records what could not be read: Gaps has the incomplete fields of a mapping, and
// OpenChildren, for example, is true if some children could not be read. The compiler does not report what follows from that.
//
// An expression stays a node. Package scanner splits its text into literal text and expressions:
//
//	parts, err := scanner.Scan("web-${parent.metadata.name}") // "web-", then the expression
//
// What each file does:
//
//	rule.go          the types
//	decode.go        begins at the document
//	children.go      children, variables and forEach
//	lookups.go       lookups
//	patches.go       patches
//	selector.go      label selectors
//	conditions.go    conditions and events
//	finalize.go      finalize
//	rollout.go       rollout
//	update.go        update
//	deletion.go      deletionPolicy
//	duration.go      durations
//	prune.go         prune limits and onRuleDeletion
//	kindschema.go    spec.parent.schema
//	fields.go        the fields of a mapping, for all of these
//	kinds.go         the kinds that a rule names
//	manifest.go      finds rules among other documents
//	definition.go    positions in CustomResourceDefinitions beside a rule
//	booleans.go      words, such as off, that kubectl reads as booleans
//	otherengines.go  translates the fields of kro, Metacontroller and others
//	shown.go         shows a file without the values of Secrets, which package secrets hides
//
// Package naming knows which names are valid.
package syntax
