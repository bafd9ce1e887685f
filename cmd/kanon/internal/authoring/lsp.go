package authoring

import (
	"time"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/version"
	"kanon.dev/kanon/offline/languageserver"
	"kanon.dev/kanon/offline/manifests"
)

// typingPause is how long a text must be unchanged before it is checked. It is longer than the pause between two keys.
const typingPause = 150 * time.Millisecond

func newLSPCommand() *cobra.Command {
	var schemas []string
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Help an editor with rules, by the Language Server Protocol",
		Long: `Help an editor with rules: an editor starts this program and talks with it over
standard input and output, by the Language Server Protocol. docs/editors.md says how
to set up Visual Studio Code, Neovim and Helix.

While you type, it shows what kanon validate would find. It completes and explains the
fields of rules and of the kinds in their templates, the names and paths in
expressions, functions, ids and values; it goes to where a name is defined, makes the
fixes of findings, and lays rules out as kanon fmt does.

Known are the kinds of Kubernetes itself, those of the CustomResourceDefinitions in the
folder of the editor and beside the rule, and those in --schemas.`,
		Example: `  # What an editor runs
  kanon lsp --schemas crds/ < /dev/null || true`,
		Args: commandline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := manifests.ReadSchemas(schemas, nil)
			if err != nil {
				return exit.Usagef(cmd, "--schemas %w", err)
			}
			return languageserver.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), languageserver.Options{
				Schemas: files, Version: version.String(), Pause: typingPause,
			})
		},
	}
	cmd.Flags().StringArrayVar(&schemas, "schemas", nil, "directory or file with CustomResourceDefinitions or OpenAPI v3 documents; repeatable")
	return cmd
}
