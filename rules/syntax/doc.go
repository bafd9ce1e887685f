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
// An expression stays a node. Package yamltree splits its text into literal text and expressions:
//
//	parts, err := yamltree.Scan("web-${parent.metadata.name}") // "web-", then the expression
//
// decode.go begins at the document. fields.go reads the fields of a mapping, and translates those of kro, Metacontroller
// and others. fill.go fills the structs with them, by the table in package language. rule.go, children.go and lookups.go
// have the structs. kindschema.go has the definitions of kinds, manifest.go finds rules among other documents and hides
// the values of Secrets, and names.go knows which names are valid where, and has the paths of ignore.
package syntax
