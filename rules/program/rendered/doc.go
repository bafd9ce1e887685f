// Package rendered checks and completes a rendered object before anything is done with it: its name and its namespace; and for the
// fields of a patch, that they identify no object.
//
//	if p := rendered.Complete(object, rendered.Place{Kind: "Service", Namespaced: true, Parent: "team-a"}); p != nil {
//		return p.Under("template.metadata") // name: is missing
//	}
//	id := rendered.IdentityOf(object) // Service "team-a/web"; two children must not be the same
//
// identity.go checks names, patch.go patches, and generated.go copies generated values from the live object:
// nothing else has them, so a child that somebody deletes gets new ones.
//
// Packages rules/identity and rules/validation check what is known of a template before it is rendered; this one checks names that
// come from expressions.
package rendered
