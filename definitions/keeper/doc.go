// Package keeper decides whether Kanon may write the CustomResourceDefinition of a kind whose fields a rule gives
// (spec.parent.schema), and what it writes:
//
//	plan, err := keeper.Prepare(ctx, keeper.Client{Interface: client}, keeper.Wanted{
//		Definition: definition, Rule: "kanon-system/webapp", Installation: "kanon-system",
//	})
//	// err: DefinitionHeld: CustomResourceDefinition webapps.shop.example.com is not changed, because 2 of 120 objects would lose something …
//	if plan.Body != nil { … } // apply it, as Manager
//
// What there is decides:
//
//   - no definition: Kanon creates it, with a mark that names the rule;
//   - the same one, whoever made it: nothing is to be done;
//   - one that Kanon made: it is changed, if no object that is stored loses anything, or the rule confirms just this change;
//   - one that somebody else made: it is left alone, unless the rule adopts it.
//
// keeper.go decides, refusal.go says why not, and client.go reads definitions and objects. The package writes nothing, and never
// deletes a definition: that would delete every object of the kind. What a change does to objects, package definitions/change knows.
package keeper
