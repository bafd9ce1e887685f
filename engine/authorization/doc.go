// Package authorization decides what a rule may read from memory.
//
// Informers are shared, and filled with Kanon's own rights. A rule with a ServiceAccount must not see anything in
// them that the ServiceAccount may not read: not in an expression, and not in a message. So each read is checked
// first:
//
//	err := reads.Check(ctx, identity, authorization.Read{Resource: gvr, Namespace: "team-a"})
//
// The API server answers, by SubjectAccessReviews for get, list and watch. Answers are cached for a few seconds.
// Rules without a ServiceAccount are not checked. Writes need no check: they are sent with the rights of the
// ServiceAccount (package impersonation).
package authorization
