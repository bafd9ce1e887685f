// Package operating has the commands that change a cluster: suspend, resume, reconcile, confirm-prune and
// confirm-definition. Each file has a command with its flags, help and order of steps; package live/operations does the
// work.
//
//	commandline.AddCommands(root, "Act on a cluster", operating.Commands()...)
package operating

import "github.com/spf13/cobra"

// Commands lists the commands, by name.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newConfirmDefinitionCommand(),
		newConfirmPruneCommand(),
		newReconcileCommand(),
		newResumeCommand(),
		newSuspendCommand(),
	}
}
