// Package cli has what the commands of kanon share: flags, errors with their exit codes, and the way to a cluster.
//
//	var where cli.LiveFlags
//	where.Add(cmd, "parents") // -n, -A, -l, --kanon-namespace, and those that find the cluster
//	...
//	if err := checked(args); err != nil {
//		return cli.Usagef(cmd, "%w", err) // 2, and the message points to the command's help
//	}
//	there, err := where.Reach(cmd) // an error within 5 s if the cluster does not answer
//	return ask(ctx, there)         // 3 if the cluster does not answer, else 1: main asks OfCluster
//
// A command whose output has already reported the problem returns ErrFindings or an error that wraps it. main prints no
// message for that.
//
// command.go extends cobra: groups of flags, suggestions for misspelt commands, and the name under which
// kubectl runs the program. cluster.go, object.go and complete.go find a cluster and objects in it, with the flags and
// arguments of kubectl. rulefiles.go and filenames.go read rules from files, and print findings on standard error.
// live.go, targets.go and listing.go name, choose and list rules, their parents and their children.
package cli
