// Package inventory names and lists what Kanon has in a cluster: rules, their parents and their children.
//
//	var where inventory.Flags
//	where.Add(cmd, "parents") // -n, -A, -l, --kanon-namespace, and those that find the cluster
//	...
//	there, err := where.Reach(ctx, cmd.ErrOrStderr())
//	rule, err := there.Rules.Find("webapp")
//
// TargetFlags choose the parents or rules that a command acts on, as KIND NAME, rule NAME, or a KIND with -l. Output
// has the flags for lists, and Listing prints them.
package inventory
