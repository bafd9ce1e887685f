package inspecting

import (
	"slices"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/inventory"
	"kanon.dev/kanon/rules/diagnostic"
)

// getOptions are the flags of kanon get.
type getOptions struct {
	watch  bool
	where  inventory.Flags
	output inventory.Output
}

func newGetCommand() *cobra.Command {
	var o getOptions
	cmd := &cobra.Command{
		Use:   "get rules [RULE...] | parents RULE | children RULE",
		Short: "List the rules of a cluster, their parents and their children",
		Long: `List the rules that a cluster has, wherever they are, or the parents or children of one.

rules     with what Kanon reports on them. STATUS is Running, Suspended, PruneHeld (the
          prune guard blocks what the rule would delete), DefinitionHeld (a change of the
          kind would lose something), Refused (the rule does not run as it is written),
          Removing, Unknown (Kanon has not reported on it) or InFile (nor has it on a
          rule in a file of its process). -o wide has the messages
parents   that a rule selects, with the condition Ready that Kanon set for the rule.
          Kanon sets no conditions on Kubernetes' own kinds: see kanon events. REASON is
          WhenFalse for those that spec.parent.when leaves out
children  that a rule created, with the node of the rule they come from, and whether
          they are ready: by readyWhen, or by their kind. Those of a cluster-scoped
          parent are listed in all namespaces, unless -n names one

RULE is a name, or NAMESPACE/NAME. Of a rule in a file, the cluster has a record once it
has run, and Kanon reports its state there. About one that never ran, as when it has
mistakes from the beginning, see the log of Kanon.

The exit code is 0, 1 when a rule does not exist or something cannot be read, 2 when the
command is called wrongly, and 3 when the cluster does not answer.`,
		Example: `  # All rules, and how they fare
  kanon get rules

  # Why a rule does not run
  kanon get rules webapp -o wide

  # The parents of a rule in all namespaces, and its children in one
  kanon get parents webapp -A
  kanon get children webapp -n shop

  # The children of a rule as they become ready
  kanon get children webapp -A --watch`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef(cmd, "say what to get: rules, parents or children")
			}
			switch what := nounOf(args[0]); {
			case what == "":
				if near, ok := diagnostic.Nearest(args[0], []string{"rules", "parents", "children"}); ok {
					return exit.Usagef(cmd, "%q is none of rules, parents and children; did you mean %s?", args[0], near)
				}
				return exit.Usagef(cmd, "%q is none of rules, parents and children; kubectl gets all else", args[0])
			case what != "rules" && len(args) != 2:
				return exit.Usagef(cmd, "name one rule whose %s to get", what)
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
	printer, err := o.output.Printer(cmd)
	if err != nil {
		return err
	}
	query, err := o.where.Query(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	there, err := o.where.Reach(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	list := &inventory.Listing{Live: there, Where: &o.where, Query: query, Printer: printer, Notes: cmd.ErrOrStderr(), Watch: o.watch}
	if what == "rules" {
		return exit.OfCluster(there.Config.Host, list.PrintRules(ctx, names))
	}
	rule, err := there.Rules.Find(names[0])
	if err != nil {
		return err
	}
	return exit.OfCluster(there.Config.Host, list.PrintObjects(ctx, rule, what))
}
