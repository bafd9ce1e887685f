package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// usageError is a mistake in how the program was called.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func isUsage(err error) bool {
	var usage *usageError
	return errors.As(err, &usage)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "kanon",
		Short: "Run Kubernetes operators from rules written in YAML",
		Long: `Kanon turns rules written in YAML into running Kubernetes operators.

A rule names a parent kind and says, with CEL expressions inside YAML
templates, which children each parent has and what its status says.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("there is no command %q; see 'kanon --help'", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath())}
	})
	root.AddCommand(newRunCommand(), newVersionCommand())
	return root
}

// noArguments refuses arguments that are not flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Errorf("unexpected argument %q; see '%s --help'", args[0], cmd.CommandPath())}
	}
	return nil
}
