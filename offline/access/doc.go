// Package access computes the rights that rules need, and writes them as roles.
//
//	var rights access.Rights
//	err := rights.Add(rule, program, kinds)           // parents, children, lookups, patches
//	roles, err := rights.Roles(access.Subject{...})   // a ClusterRole, Roles and their bindings, as YAML
//	missing, err := access.Missing(ctx, reviews, rights, "system:serviceaccount:kanon-system:kanon")
//
// rights.go implements the table in README.md under "What your rules need". roles.go writes YAML, with a comment on the
// purpose of each right. review.go asks an API server whether an identity has the rights.
package access
