// Package authoring has the commands for rules in files, which need no cluster: they check, render and test them, and write what goes with them. Each has a file with its flags, its help, and the order of
// what it does; the work is in offline/.
//
//	commandline.AddCommands(root, "Write rules, without a cluster", authoring.Commands()...)
package authoring

import "github.com/spf13/cobra"

// Commands are kanon validate and the others, in the order of their names.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newCRDCommand(),
		newEvalCommand(),
		newExplainCommand(),
		newFmtCommand(),
		newInitCommand(),
		newLSPCommand(),
		newRBACCommand(),
		newRenderCommand(),
		newSchemaCommand(),
		newTestCommand(),
		newValidateCommand(),
	}
}
