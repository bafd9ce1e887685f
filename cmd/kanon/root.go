package main

import (
	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/authoring"
	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/inspecting"
	"kanon.dev/kanon/cmd/kanon/internal/operating"
)

// newRoot makes the root command. name is how users call it: kanon, or kubectl kanon.
func newRoot(name string) *cobra.Command {
	root := &cobra.Command{
		Use:   "kanon",
		Short: "Run Kubernetes operators from rules written in YAML",
		Long: `Kanon turns rules written in YAML into running Kubernetes operators.

A rule names a parent kind and says, with CEL expressions inside YAML
templates, which children each parent has and what its status says.`,
		Example: `  # Run the rules of a directory against the cluster of your kubeconfig
  kanon run --rules rules/

  # Check rules without running them
  kanon validate rules/

  # Show what a rule renders for a parent
  kanon render rule.yaml parent.yaml --schemas crds/`,
		SilenceUsage:  true,
		SilenceErrors: true,
		// The value of git: a word with two wrong letters is still suggested.
		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{DisableDefaultCmd: true}, // newCompletionCommand has examples
		Args:                       commandline.KnownCommand,
	}
	// cobra's own --version flag executes a template. Then the linker keeps every exported method, which is a fifth of
	// the program and of an empty process' memory.
	asked := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *asked {
			return printVersion(cmd.OutOrStdout())
		}
		return cmd.Help()
	}
	root.SetFlagErrorFunc(commandline.FlagError)
	root.SetUsageFunc(commandline.Usage)
	commandline.AddCommands(root, "Run rules",
		newRunCommand(),
	)
	commandline.AddCommands(root, "Write rules, without a cluster", authoring.Commands()...)
	commandline.AddCommands(root, "Look at a cluster", inspecting.Commands()...)
	commandline.AddCommands(root, "Act on a cluster", operating.Commands()...)
	root.AddCommand(newCompletionCommand(), newVersionCommand())
	root.SetHelpCommand(commandline.HelpCommand())
	root.InitDefaultHelpCmd()
	commandline.Rename(root, name)
	return root
}
