package authoring

import (
	"fmt"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/offline/ruleschema"
)

func newSchemaCommand() *cobra.Command {
	var modeline bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a rule, for editors",
		Long: `Print the JSON Schema of a rule. With it, an editor completes and explains the fields of
a rule, and underlines what is misspelt. 'kanon lsp' does that too, and checks
the expressions and the templates as well.

The schema belongs to this version of Kanon. Write it to a file, and name that file in a
comment at the beginning of a rule, relative to the rule. Visual Studio Code (with
the extension YAML), Neovim and other editors with yaml-language-server read it:

  # yaml-language-server: $schema=.kanon/rule.schema.json

kanon init does both. The CustomResourceDefinition of Rule objects has the same schema:
see 'kubectl explain rule.spec'.`,
		Example: `  # A schema for the rules of this directory
  mkdir -p .kanon && kanon schema > .kanon/rule.schema.json

  # The comment that names it
  kanon schema --modeline`,
		Args: commandline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := string(ruleschema.JSON())
			if modeline {
				text = ruleschema.Modeline(ruleschema.Path) + "\n"
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
