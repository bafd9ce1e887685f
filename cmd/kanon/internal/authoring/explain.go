package authoring

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/offline/graph"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// explainOptions are the flags of kanon explain.
type explainOptions struct {
	files   rulefiles.Filenames
	output  string
	schemas []string
}

func newExplainCommand() *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain FILE|-",
		Short: "Show what a rule reads and makes, as a table or a graph",
		Long: `Show the parts of a rule: what it is for, what it looks up, which children it makes
and what it patches; under which conditions, and which part needs which. A part stands
after all that it needs. Then follow the objects that the rule watches, the fields that
its expressions read, and what it writes.

With -o the same is a graph: for Graphviz (dot), for a Markdown page on GitHub
(mermaid), or as a picture (svg). Several rules are in one graph. A bold arrow is a
dependsOn, which waits until the other child is ready, and a dotted one reads a child as
observed, which waits for nothing.

The exit code is 0, 1 when the rule has errors, and 2 when the command is called
wrongly.`,
		Example: `  # The parts of a rule
  kanon explain rule.yaml

  # A picture for its README
  kanon explain rule.yaml -o svg > graph.svg`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == o.files.Given() {
				return exit.Usagef(cmd, "name a file with rules, or - for standard input")
			}
			return nil
		},
		RunE: o.files.Run(o.explain),
	}
	flags := cmd.Flags()
	o.files.Add(cmd, "rules")
	flags.StringVarP(&o.output, "output", "o", string(graph.Text), strings.Join(graph.Formats(), ", "))
	flags.StringArrayVar(&o.schemas, "schemas", nil, "directory or file with CustomResourceDefinitions or OpenAPI v3 documents; repeatable")
	commandline.CompleteFlag(cmd, "output", func() []cobra.Completion { return graph.Formats() })
	return cmd
}

func (o *explainOptions) explain(cmd *cobra.Command, files []string) error {
	if !slices.Contains(graph.Formats(), o.output) {
		return exit.Usagef(cmd, "--output %q is none of %s", o.output, strings.Join(graph.Formats(), ", "))
	}
	checked, _, err := rulefiles.Read(cmd, files, o.schemas, rules.Options{Namespace: engine.DefaultNamespace})
	if err != nil {
		return err
	}
	return o.write(cmd, checked.Decoded)
}

func (o *explainOptions) write(cmd *cobra.Command, decoded []*syntax.Rule) error {
	graphs := make([]*graph.Graph, len(decoded))
	for i, rule := range decoded {
		var err error
		if graphs[i], err = graph.Of(rule); err != nil {
			return err
		}
	}
	if err := graph.Write(cmd.OutOrStdout(), graph.Format(o.output), graphs...); err != nil {
		return fmt.Errorf("print the graph: %w", err)
	}
	return nil
}
