package main

import (
	"time"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/languageserver"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
)

// typingPause is how long a text must be unchanged before it is checked. It is longer than the pause between two keys.
const typingPause = 150 * time.Millisecond

func newLSPCommand() *cobra.Command {
	var schemas []string
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Help an editor with rules, by the Language Server Protocol",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := manifests.ReadSchemas(schemas, nil)
			if err != nil {
				return cli.Usagef(cmd, "--schemas %w", err)
			}
			return languageserver.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), languageserver.Options{
				Schemas: files, Version: cli.Version(), Pause: typingPause,
			})
		},
	}
	cli.AddSchemas(cmd.Flags(), &schemas)
	return cmd
}
