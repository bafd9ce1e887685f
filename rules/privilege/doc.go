// Package privilege says which objects grant rights: whoever may write one of them can give himself, or others, more than he has.
//
// A rule writes such objects only if it is from a trusted source and says allowPrivileged: true. The compiler asks by kind, and
// the engine once more by the object, because whether a Secret is a token, or a ConfigMap has rules, shows in its content:
//
//	privilege.OfKind(schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "Role"}) // "it grants rights"
//	privilege.OfObject(secret)                                                          // "it is a token of a ServiceAccount"
//
// An empty reason says that the object grants nothing.
package privilege
