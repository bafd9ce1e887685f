// Package privilege knows which objects grant rights: whoever may write one of them can gain rights, or give them to others.
//
// A rule writes such objects only if it comes from a trusted source and has allowPrivileged: true. The compiler checks the kind, and
// the engine checks the object again, because only the content shows whether a Secret is a token, or a ConfigMap has rules:
//
//	privilege.OfKind(schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "Role"}) // "it grants rights"
//	privilege.OfObject(secret)                                                          // "it is a token of a ServiceAccount"
//
// An empty reason means that the object grants nothing.
package privilege
