// Package inspecting has the commands that look at a cluster and change nothing: they list, trace, compare and explain. Each has a file with its flags, its help, and the order of
// what it does; the work is in live/.
//
//	commandline.AddCommands(root, "Look at a cluster", inspecting.Commands()...)
package inspecting

import "github.com/spf13/cobra"

// Commands are kanon get and the others, in the order of their names.
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
