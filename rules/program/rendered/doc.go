// Package rendered says of an object that a template gave what it must be before anything is done with it: which object it
// is, and that it says so; and of the fields of a patch, that they name no object.
//
//	if p := rendered.Complete(object, rendered.Place{Kind: "Service", Namespaced: true, Parent: "team-a"}); p != nil {
//		return p.Under("template.metadata") // name: is missing
//	}
//	id := rendered.IdentityOf(object) // Service "team-a/web"; two children must not be the same
//
// identity.go is about names, patch.go about patches, and generated.go about fields that are generated once: they keep the
// values that the live object has.
//
// What the compiler knows of a template before it is rendered is checked by rules/identity and rules/validation; here are
// the names that only expressions give.
package rendered
