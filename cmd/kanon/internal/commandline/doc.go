// Package commandline is what kanon's commands have beyond those of cobra: help texts with flags and commands under headings of
// their own, words that were meant by a misspelt command, and the name under which kubectl calls the program.
//
//	root.SetUsageFunc(commandline.Usage)
//	commandline.AddCommands(root, "Act on a cluster", newSuspendCommand(), newResumeCommand())
//	commandline.AddGroup(cmd.Flags(), "Cluster", func(flags *pflag.FlagSet) {
//		flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file")
//	})
//
// Its errors are those of package exit.
package commandline
