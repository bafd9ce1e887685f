package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/cli"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.NoArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return printVersion(cmd.OutOrStdout()) },
	}
}

func printVersion(w io.Writer) error {
	_, err := fmt.Fprintln(w, "kanon", cli.Version())
	return err
}
