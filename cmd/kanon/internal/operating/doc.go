// Package operating has the commands that act on a cluster: they suspend and resume, ask for a reconcile, and confirm what waits for it. Each has a file with its flags, its help, and the order of
// what it does; the work is in live/operations.
//
//	commandline.AddCommands(root, "Act on a cluster", operating.Commands()...)
package operating

import "github.com/spf13/cobra"

// Commands are kanon suspend and the others, in the order of their names.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newConfirmDefinitionCommand(),
		newConfirmPruneCommand(),
		newReconcileCommand(),
		newResumeCommand(),
		newSuspendCommand(),
	}
}
