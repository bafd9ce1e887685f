// Package change compares a CustomResourceDefinition with its replacement, and finds what objects of the kind would
// lose:
//
//	c, err := change.Compare(live, desired)
//	c.Changes                      // spec.color of v1: the field is removed; spec.replicas of v1: maximum is 5, and was 10
//	if c.Never() != nil { … }      // the API server does not allow such a change, as of the scope
//	if c.NeedsObjects() {
//		survey, err := c.Survey(plan.IsStatusManager)
//		for object := range stored { survey.Add(ctx, object) }
//		survey.Losses()            // spec.color: the value is dropped, in 2 objects: team-a/blog, team-a/shop
//	}
//
// Compare only decides whether a change can do harm. The API server's code then decides it for each stored object
// ([definitions.Kinds.CheckStored]). An object loses something if a value would be dropped, would have the wrong type,
// or would block changes of other fields. It loses nothing if only a new value has to be different. What was already
// wrong with the object does not count.
//
// compare.go compares definitions, schema.go compares the schemas of a version, and survey.go checks objects. The
// package has no client.
package change
