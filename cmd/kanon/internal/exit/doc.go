// Package exit has the errors of kanon's commands, with their exit codes.
//
//	if err := checked(args); err != nil {
//		return exit.Usagef(cmd, "%w", err) // 2, and the message points to the command's help
//	}
//	return exit.OfCluster(config.Host, ask(ctx)) // 3 if the cluster does not answer, else 1
//
// A command whose output has already reported the problem returns ErrFindings or an error that wraps it. main prints no
// message for that.
package exit
