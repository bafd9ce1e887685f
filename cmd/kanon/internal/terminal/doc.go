// Package terminal is what a command knows of the people at the other end of its streams: whether somebody reads or types there,
// and what they are told besides the output.
//
//	printer := diagnostic.Printer{Color: terminal.HasColors(cmd.OutOrStdout())}
//	defer terminal.SayIfSlow(cmd.ErrOrStderr(), "Asking the cluster for its kinds …")()
package terminal
