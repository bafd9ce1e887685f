// Package tenant has whose rights a rule acts with.
//
// The context of a request has its Identity, and a wrapper of the transport passes it to the API server. So no code
// in between can forget it: everything done for a rule uses one context.
//
//	config.Wrap(tenant.Wrap) // once, for all clients
//
//	ctx = tenant.NewContext(ctx, tenant.Identity{ServiceAccount: types.NamespacedName{Namespace: "team-a", Name: "web"}})
//	client.Resource(configMaps).Namespace("team-a").Get(ctx, ...) // as system:serviceaccount:team-a:web
//
// Only the user name is sent. The API server adds the groups of a ServiceAccount itself, and constrained
// impersonation (verbs impersonate:serviceaccount and impersonate-on:serviceaccount:<verb>) matches names. An Identity
// can be confined to its namespace. Then the transport sends no request about anything outside of it.
//
// Kanon's informers read with Kanon's own rights and are shared by all rules. So before a rule that acts as a
// ServiceAccount gets something from an informer, [Reads] asks the API server whether the ServiceAccount could read the
// same. Answers are cached for [Lifetime].
//
//	err := reads.Check(ctx, identity, tenant.Read{Resource: configMaps, Namespace: "team-a", Name: "settings"})
//	// err is a *tenant.DeniedError if the ServiceAccount lacks rights
package tenant
