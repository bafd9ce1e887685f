// Package keeper decides whether Kanon may write a CustomResourceDefinition, one that a rule's schema makes (spec.parent.schema) or that
// stands beside rules, and what it writes:
//
//	plan, err := keeper.Prepare(ctx, keeper.Client{Interface: client}, keeper.Wanted{
//		Definition: definition, Hash: hash, Keeper: keeper.NameOf("kanon-system", "kanon-system", "webapp"),
//	}, plan.IsStatusManager)
//	// err: DefinitionHeld: CustomResourceDefinition webapps.shop.example.com stays as it is, because 2 of 120 objects would lose …
//	if plan.Body != nil { … } // apply it, as Manager
//
// What there is decides:
//
//   - no definition: Kanon creates it, with a mark that names the rule;
//   - the same one, whoever made it: nothing is to be done;
//   - one that Kanon made: it is changed, if no object that is stored loses anything, or the rule confirms just this change;
//   - one that somebody else made: it is left alone, unless the rule adopts it.
//
// One that stands beside rules is applied once, and again when its text changes; it takes no field from others, and what others have
// applied is enough if it has all that the text has.
//
// keeper.go decides, refusal.go says why not, and client.go reads definitions and objects. The package writes nothing, and never
// deletes a definition: that would delete every object of the kind. What a change does to objects, package kinds/definitions/change knows.
package keeper
