// Package exit is how a command of kanon ends: its errors, and the exit code of each.
//
//	if err := checked(args); err != nil {
//		return exit.Usagef(cmd, "%w", err) // 2, and the message points to the command's help
//	}
//	return exit.OfCluster(config.Host, ask(ctx)) // 3 if the cluster does not answer, else 1
//
// A command whose output has said already what is wrong returns ErrFindings, or an error that wraps it: main prints no message for
// it then.
package exit
