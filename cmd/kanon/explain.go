package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/explain"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/rules"
)

// explainOptions are the flags of kanon explain.
type explainOptions struct {
	files   cli.Filenames
	output  string
	schemas []string
}

func newExplainCommand() *cobra.Command {
	o := explainOptions{output: string(explain.GraphText)}
	cmd := &cobra.Command{
		Use:   "explain FILE|-",
		Short: "Show what a rule reads and makes, as a table or a graph",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == o.files.Given() {
				return cli.Usagef(cmd, "name a file with rules, or - for standard input")
			}
			return nil
		},
		RunE: o.files.Run(o.explain),
	}
	o.files.Add(cmd, "rules")
	cli.AddSchemas(cmd.Flags(), &o.schemas)
	formats := explain.GraphFormats()
	cli.Choice{Name: "output", Short: "o", Usage: strings.Join(formats, ", "), Values: formats}.Add(cmd, &o.output)
	return cmd
}

func (o *explainOptions) explain(cmd *cobra.Command, files []string) error {
	checked, _, err := cli.ReadRules(cmd, files, o.schemas, rules.Options{Namespace: engine.DefaultNamespace})
	if err != nil {
		return err
	}
	graphs := make([]*explain.Graph, len(checked.Decoded))
	for i, rule := range checked.Decoded {
		if graphs[i], err = explain.GraphOf(rule); err != nil {
			return err
		}
	}
	if err := explain.WriteGraphs(cmd.OutOrStdout(), explain.GraphFormat(o.output), graphs...); err != nil {
		return fmt.Errorf("print the graph: %w", err)
	}
	return nil
}
