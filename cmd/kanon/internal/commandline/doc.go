// Package commandline extends cobra for kanon's commands: help texts with groups of flags and commands, suggestions for
// misspelt commands, and the name under which kubectl runs the program.
//
//	root.SetUsageFunc(commandline.Usage)
//	commandline.AddCommands(root, "Act on a cluster", newSuspendCommand(), newResumeCommand())
//	commandline.AddGroup(cmd.Flags(), "Cluster", func(flags *pflag.FlagSet) {
//		flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file")
//	})
package commandline
