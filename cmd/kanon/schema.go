package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/rules/language"
)

func newSchemaCommand() *cobra.Command {
	var modeline bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a rule, for editors",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := string(language.JSONSchema())
			if modeline {
				text = language.Modeline(language.JSONSchemaPath) + "\n"
			}
			if _, err := fmt.Fprint(cmd.OutOrStdout(), text); err != nil {
				return fmt.Errorf("print the schema: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&modeline, "modeline", false, "print the comment that names the schema in a rule")
	return cmd
}
