// Package terminal handles interactive use of a command: is a stream a terminal, progress messages, and questions.
//
//	printer := diagnostic.Printer{Color: terminal.HasColors(cmd.OutOrStdout())}
//	defer terminal.SayIfSlow(cmd.ErrOrStderr(), "Asking the cluster for its kinds …")()
package terminal
