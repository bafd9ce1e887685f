// Package authorization decides what a rule may read from memory.
//
// Informers are shared, and filled with Kanon's own rights. A rule that runs with the rights of a ServiceAccount must not see in them
// what that ServiceAccount may not read: not in an expression, and not in a message. So each read asks first:
//
//	err := reads.Check(ctx, identity, authorization.Read{Resource: gvr, Namespace: "team-a"})
//
// The answer is that of the API server, by a SubjectAccessReview for get, list and watch. It is kept for a few seconds. For a rule
// without a ServiceAccount nothing is asked. Writes need no gate: they are sent with the rights of the ServiceAccount (package
// impersonation).
package authorization
