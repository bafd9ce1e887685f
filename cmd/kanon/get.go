package main

import (
	"slices"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/rules/diagnostic"
)

// getOptions are the flags of kanon get.
type getOptions struct {
	watch  bool
	where  cli.LiveFlags
	output cli.Output
}

func newGetCommand() *cobra.Command {
	var o getOptions
	cmd := &cobra.Command{
		Use:   "get rules [RULE...] | parents RULE | children RULE",
		Short: "List the rules of a cluster, their parents and their children",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef(cmd, "say what to get: rules, parents or children")
			}
			switch what := nounOf(args[0]); {
			case what == "":
				way := "kubectl gets all else"
				if near, ok := diagnostic.Nearest(args[0], []string{"rules", "parents", "children"}); ok {
					way = "did you mean " + near + "?"
				}
				return cli.Usagef(cmd, "%q is none of rules, parents and children; %s", args[0], way)
			case what != "rules" && len(args) != 2:
				return cli.Usagef(cmd, "name one rule whose %s to get", what)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.get(cmd, nounOf(args[0]), args[1:]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []cobra.Completion{"rules", "parents", "children"}, cobra.ShellCompDirectiveNoFileComp
			}
			if len(args) > 1 && nounOf(args[0]) != "rules" {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return o.where.CompleteRules(cmd), cobra.ShellCompDirectiveNoFileComp
		},
	}
	o.where.Add(cmd, "objects")
	cmd.Flags().Lookup("namespace").Usage = "namespace of the objects; default: that of the kubeconfig, and all for rules"
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on with each that changes")
	o.output.Add(cmd)
	return cmd
}

// nounOf normalises a noun argument to rules, parents or children; empty for another word.
func nounOf(word string) string {
	for noun, words := range map[string][]string{
		"rules": {"rules", "rule"}, "parents": {"parents", "parent"}, "children": {"children", "child"},
	} {
		if slices.Contains(words, word) {
			return noun
		}
	}
	return ""
}

func (o *getOptions) get(cmd *cobra.Command, what string, names []string) error {
	query, err := o.where.Query(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	there, err := o.where.Reach(cmd)
	if err != nil {
		return err
	}
	list := &cli.Listing{Live: there, Query: query, Printer: o.output.Printer(cmd), Notes: cmd.ErrOrStderr(), Watch: o.watch}
	if what == "rules" {
		return list.PrintRules(ctx, names)
	}
	rule, err := there.Rules.Find(names[0])
	if err != nil {
		return err
	}
	return list.PrintObjects(ctx, rule, live.Noun(what))
}
