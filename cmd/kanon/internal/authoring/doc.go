// Package authoring has the commands for rules in files, which need no cluster: they check, render and test rules, and
// write what belongs to them. Each file has a command with its flags, help and order of steps; the packages in offline/
// do the work.
//
//	commandline.AddCommands(root, "Write rules, without a cluster", authoring.Commands()...)
package authoring

import "github.com/spf13/cobra"

// Commands lists the commands, by name.
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
