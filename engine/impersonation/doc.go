// Package impersonation sends requests with the rights of a ServiceAccount.
//
// Who a request is for is in its context, and a wrapper of the transport says so to the API server. So nobody on the way can
// forget it: what is done for a rule is done with one context.
//
//	config.Wrap(impersonation.Wrap) // once, for all clients
//
//	ctx = impersonation.NewContext(ctx, impersonation.Identity{ServiceAccount: types.NamespacedName{Namespace: "team-a", Name: "web"}})
//	client.Resource(configMaps).Namespace("team-a").Get(ctx, ...) // as system:serviceaccount:team-a:web
//
// The API server gets the name alone. It adds the groups of a ServiceAccount itself, and constrained impersonation (verbs
// impersonate:serviceaccount and impersonate-on:serviceaccount:<verb>) matches names.
//
// An Identity can be confined to its namespace. A request about anything else is then not sent, whatever made it.
package impersonation
