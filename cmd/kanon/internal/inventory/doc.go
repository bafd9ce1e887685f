// Package inventory is what a cluster has of Kanon, as commands name and list it: rules, their parents and their children.
//
//	var where inventory.Flags
//	where.Add(cmd, "parents") // -n, -A, -l, --kanon-namespace, and those that find the cluster
//	...
//	there, err := where.Reach(ctx, cmd.ErrOrStderr())
//	rule, err := there.Rules.Find("webapp")
//
// TargetFlags choose parents or rules that a command does something to, as KIND NAME, rule NAME, or a KIND with -l. Output has the
// flags of lists, and Listing prints them.
package inventory
