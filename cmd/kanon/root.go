package main

import (
	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/docs"
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
		Args:                       cli.KnownCommand,
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
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetUsageFunc(cli.WriteUsage)
	cli.AddCommands(root, "Run rules", newRunCommand())
	cli.AddCommands(root, "Write rules, without a cluster",
		newCRDCommand(), newEvalCommand(), newExplainCommand(), newFmtCommand(), newInitCommand(), newLSPCommand(), newRBACCommand(),
		newRenderCommand(), newSchemaCommand(), newTestCommand(), newValidateCommand())
	cli.AddCommands(root, "Look at a cluster",
		newDiffCommand(), newEventsCommand(), newGetCommand(), newSupportBundleCommand(), newTraceCommand(), newWhyCommand())
	cli.AddCommands(root, "Act on a cluster",
		newConfirmDefinitionCommand(), newConfirmPruneCommand(), newReconcileCommand(), newResumeCommand(), newSuspendCommand())
	root.AddCommand(newVersionCommand())
	for _, cmd := range root.Commands() {
		cmd.Long, cmd.Example = docs.Command(cmd.Name())
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cli.Rename(root, name)
	return root
}
