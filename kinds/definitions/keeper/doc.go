// Package keeper decides whether Kanon may write a CustomResourceDefinition, and what it writes. The definition is made
// from a rule's schema (spec.parent.schema), or is beside rules in a document of its own:
//
//	plan, err := keeper.Prepare(ctx, keeper.Client{Interface: client}, keeper.Wanted{
//		Definition: definition, Hash: hash, Keeper: keeper.NameOf("kanon-system", "kanon-system", "webapp"),
//	}, plan.IsStatusManager)
//	// err: DefinitionHeld: CustomResourceDefinition webapps.shop.example.com stays as it is, because 2 of 120 objects would lose …
//	if plan.Body != nil { … } // apply it, as Manager
//
// The definition in the cluster decides:
//
//   - If there is none, Kanon creates it, with an annotation that names the rule.
//   - If it is the same one, whoever made it, there is nothing to do.
//   - If Kanon made it, Kanon changes it if no stored object loses anything, or if the rule confirms exactly this change.
//   - If somebody else made it, Kanon leaves it alone, unless the rule adopts it.
//
// A definition beside rules is applied once, and again when its text changes. It takes no field from other managers. If
// what others applied has everything that the text has, it is not applied at all.
//
// keeper.go decides, refusal.go explains a refusal, and client.go reads definitions and objects. Package
// kinds/definitions/change finds what objects would lose. The package writes nothing. It never deletes a definition,
// because that would delete every object of the kind.
package keeper
