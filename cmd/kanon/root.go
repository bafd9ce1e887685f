package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/rules/diagnostic"
)

// usageError is a mistake in how the program was called.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func isUsage(err error) bool {
	var usage *usageError
	return errors.As(err, &usage)
}

// usageErrorf makes a usageError that ends by pointing to the command's help.
func usageErrorf(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Errorf(format+"; see '%s --help'", append(args, cmd.CommandPath())...)}
}

// newRoot makes the command as users call it: kanon, or kubectl kanon.
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
		// As git has it: a word of two wrong letters is still near.
		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{DisableDefaultCmd: true}, // ours has examples
		Args:                       knownCommand,
	}
	// Not by cobra, which would do it with a template: where one can be executed the
	// linker keeps every method there is, a fifth of the program and of an empty process.
	asked := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *asked {
			return printVersion(cmd.OutOrStdout())
		}
		return cmd.Help()
	}
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(usage)
	addCommands(root, "Run rules",
		newRunCommand(),
	)
	addCommands(root, "Write rules, without a cluster",
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
	)
	addCommands(root, "Look at a cluster",
		newDiffCommand(),
		newEventsCommand(),
		newGetCommand(),
		newTraceCommand(),
		newWhyCommand(),
	)
	addCommands(root, "Act on a cluster",
		newConfirmPruneCommand(),
		newReconcileCommand(),
		newResumeCommand(),
		newSuspendCommand(),
	)
	root.AddCommand(newCompletionCommand(), newVersionCommand())
	root.SetHelpCommand(newHelpCommand())
	root.InitDefaultHelpCmd()
	rename(root, name)
	return root
}

// newHelpCommand is cobra's help command, with an error where that prints the
// whole help for a command that does not exist.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return knownCommand(cmd.Root(), args)
			}
			about.InitDefaultHelpFlag() // cobra does so only for the command that runs
			return about.Help()
		},
	}
}

// knownCommand refuses arguments of the root command, which are commands that
// there are not.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := ""
	if names := root.SuggestionsFor(args[0]); len(names) > 0 {
		if nearest, ok := diagnostic.Nearest(args[0], names); ok { // else it is the beginning of some
			names[0] = nearest
		}
		near = fmt.Sprintf(" (did you mean %q?)", names[0])
	}
	return usageErrorf(root, "there is no command %q%s", args[0], near)
}

// flagError makes an error of a flag one of usage. The names of Go's functions
// that refused a value are left out.
func flagError(cmd *cobra.Command, err error) error {
	if number := new(strconv.NumError); errors.As(err, &number) {
		return usageErrorf(cmd, "%s: not a whole number", strings.TrimSuffix(err.Error(), ": "+number.Error()))
	}
	return usageErrorf(cmd, "%w", err)
}

// noArguments refuses arguments that are not flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageErrorf(cmd, "unexpected argument %q", args[0])
	}
	return nil
}

// programName is how users call the program: kubectl runs a program called kubectl-kanon as "kubectl kanon".
func programName(path string) string {
	if strings.TrimSuffix(filepath.Base(path), ".exe") == "kubectl-kanon" {
		return "kubectl kanon"
	}
	return "kanon"
}

// rename has the help texts call the program by another name.
func rename(root *cobra.Command, name string) {
	if name == root.Name() {
		return
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	var commands []string
	for _, cmd := range root.Commands() {
		commands = append(commands, cmd.Name())
	}
	call := regexp.MustCompile(`\b` + root.Name() + ` (` + strings.Join(commands, "|") + `)\b`)
	for _, cmd := range append(root.Commands(), root) {
		cmd.Long = call.ReplaceAllString(cmd.Long, name+" $1")
		cmd.Example = call.ReplaceAllString(cmd.Example, name+" $1")
	}
}
