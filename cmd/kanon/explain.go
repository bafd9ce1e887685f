package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/graph"
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
after all that it needs.

With -o the same is a graph: for Graphviz (dot), for a Markdown page on GitHub
(mermaid), or as a picture (svg). A bold arrow is a dependsOn, which waits until the other
child is ready, and a dotted one reads a child as observed, which waits for nothing.

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
	if len(checked.Decoded) > 1 && o.output == string(graph.SVG) {
		return fmt.Errorf("%s has %d rules: a picture has one", strings.Join(files, ", "), len(checked.Decoded))
	}
	return o.write(cmd, checked.Decoded)
}

func (o *explainOptions) write(cmd *cobra.Command, decoded []*syntax.Rule) error {
	for i, rule := range decoded {
		g, err := graph.Of(rule)
		if err != nil {
			return err
		}
		if i > 0 {
			if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
				return fmt.Errorf("print the graph: %w", err)
			}
		}
		if err := g.Write(cmd.OutOrStdout(), graph.Format(o.output)); err != nil {
			return fmt.Errorf("print the graph: %w", err)
		}
	}
	return nil
}
