// Package language lists the fields of a rule: the name of each, its type, and a sentence that explains it.
//
// The decoder knows the fields only by this list. So do the JSON Schema for editors, the schema in the CustomResourceDefinition, the
// order of kanon fmt, the tables of docs/reference, and the language server:
//
//	child := language.At("spec.children")
//	policy := child.Field("updatePolicy")
//	policy.Doc        // How the object is changed: in place, by recreating it, or never.
//	policy.Type.Words // Apply, ApplyOrRecreate, Recreate, CreateOnly
//
// The fields are in the order in which a rule is best read, and in which kanon fmt writes them. To add a field, add it here and to a struct
// of package syntax; the tests name everything else that is out of date then.
//
// type.go has the types and the fields: of a document and of spec, of lookups, children, patches, conditions and
// events, and of spec.parent.schema. schema.go makes the JSON Schema for editors, and the schema in the
// CustomResourceDefinition of Rule objects.
package language
