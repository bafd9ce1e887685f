// Package change compares a CustomResourceDefinition with another one that is to replace it, and tells what the objects of the kind
// would lose:
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
// Compare decides only whether a change can do harm at all. Whether it does is decided for each object that is stored, by the code
// of the API server ([definitions.Kinds.CheckStored]): an object loses something if a value would be dropped, would have another
// type, or would keep the API server from accepting changes of other fields. It does not if only a new value has to be another one.
// What was wrong with the object before is not counted.
//
// compare.go compares definitions, schema.go the schemas of a version, and survey.go looks at objects. The package has no client.
package change
