// Package inspecting has the commands that read a cluster and change nothing: they list, trace, compare and explain.
// Each file has a command with its flags, help and order of steps; the packages in live/ do the work.
//
//	commandline.AddCommands(root, "Look at a cluster", inspecting.Commands()...)
package inspecting

import "github.com/spf13/cobra"

// Commands lists the commands, by name.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newDiffCommand(),
		newEventsCommand(),
		newGetCommand(),
		newSupportBundleCommand(),
		newTraceCommand(),
		newWhyCommand(),
	}
}
