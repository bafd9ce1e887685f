// Package language lists the fields of a rule: what each is called, what may be its value, and
// a sentence that explains it.
//
// The decoder knows a field only by this list, and so do the JSON Schema for editors, the
// schema in the CustomResourceDefinition, the order of kanon fmt, the tables of docs/reference,
// and what the language server completes and explains:
//
//	child := language.Child()
//	policy := child.Field("updatePolicy")
//	policy.Doc        // How the object is changed: in place, by recreating it, or never.
//	policy.Type.Words // Apply, ApplyOrRecreate, Recreate, CreateOnly
//
// The fields stand in the order in which a rule is best read, which kanon fmt writes. To add
// one, add it here and decode it in package syntax; the tests name everything else that
// is no longer current.
//
// type.go has what a type is, rule.go the fields of a document and of spec, nodes.go those of
// lookups, children and patches, and report.go those of conditions and events.
package language
