// Package impersonation sends requests with the rights of a ServiceAccount.
//
// The context of a request has its identity, and a wrapper of the transport passes it to the API server. So no code
// in between can forget it: everything done for a rule uses one context.
//
//	config.Wrap(impersonation.Wrap) // once, for all clients
//
//	ctx = impersonation.NewContext(ctx, impersonation.Identity{ServiceAccount: types.NamespacedName{Namespace: "team-a", Name: "web"}})
//	client.Resource(configMaps).Namespace("team-a").Get(ctx, ...) // as system:serviceaccount:team-a:web
//
// Only the user name is sent. The API server adds the groups of a ServiceAccount itself, and constrained
// impersonation (verbs impersonate:serviceaccount and impersonate-on:serviceaccount:<verb>) matches names.
//
// An Identity can be confined to its namespace. Then the transport sends no request about anything outside of it.
package impersonation
