package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"

	"kanon.dev/kanon/installed"
	"kanon.dev/kanon/listing"
)

// getOptions are the flags of kanon get.
type getOptions struct {
	live   liveFlags
	output outputFlags
}

func newGetCommand() *cobra.Command {
	var o getOptions
	cmd := &cobra.Command{
		Use:   "get rules [RULE...] | parents RULE | children RULE",
		Short: "List the rules of a cluster, their parents and their children",
		Long: `List the rules that a cluster has, wherever they are, or the parents or children of one.

rules     with what Kanon reports on them. STATUS is Running, Suspended, PruneHeld (the
          prune guard blocks what the rule would delete), Refused (the rule does not run
          as it is written), Removing or Unknown. -o wide has the messages
parents   that a rule selects, with the condition Ready that Kanon set for the rule.
          Kanon sets no conditions on Kubernetes' own kinds: see kanon events
children  that a rule created, with the node of the rule they come from, and whether
          they are ready by their kind

RULE is a name, or NAMESPACE/NAME. Of a rule in a file, the cluster has no more than a
record.

The exit code is 0, 1 when a rule does not exist or something cannot be read, 2 when the
command is called wrongly, and 3 when the cluster does not answer.`,
		Example: `  # All rules, and how they fare
  kanon get rules

  # Why a rule does not run
  kanon get rules webapp -o wide

  # The parents of a rule in all namespaces, and its children in one
  kanon get parents webapp -A
  kanon get children webapp -n shop`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf(cmd, "say what to get: rules, parents or children")
			}
			switch what := nounOf(args[0]); {
			case what == "":
				return usageErrorf(cmd, "%q is none of rules, parents and children; kubectl gets all else", args[0])
			case what != "rules" && len(args) != 2:
				return usageErrorf(cmd, "name one rule whose %s to get", what)
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
			return o.live.completeRules(cmd), cobra.ShellCompDirectiveNoFileComp
		},
	}
	o.live.add(cmd, "objects")
	cmd.Flags().Lookup("namespace").Usage = "namespace of the objects; default: that of the kubeconfig, and all for rules"
	o.output.add(cmd)
	return cmd
}

// nounOf is rules, parents or children by any name that users may have for it; empty for another word.
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
	printer, err := o.output.printer(cmd)
	if err != nil {
		return err
	}
	query, err := o.live.query(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	there, err := o.live.reach(ctx)
	if err != nil {
		return err
	}
	if what == "rules" {
		return o.rules(cmd, there, printer, query, names)
	}
	rule, err := there.rules.Find(names[0])
	if err != nil {
		return err
	}
	reader, err := there.reader(ctx)
	if err != nil {
		return err
	}
	list, err := o.objects(ctx, reader, rule, what, query)
	if err != nil {
		return clusterError(there.config.Host, err)
	}
	if len(list.Rows) == 0 && printer.Format.IsTable() {
		in := "the cluster: no " + what + " of rule " + rule.Name.String()
		if query.Namespace != "" {
			in = "namespace " + query.Namespace + "; -A asks for all namespaces"
		}
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "Nothing found in %s\n", in)
		return err
	}
	return printer.Print(list)
}

// objects are the parents or the children of a rule, to be printed.
func (o *getOptions) objects(ctx context.Context, reader *installed.Reader, rule *installed.Rule, what string, q installed.Query) (listing.List, error) {
	now := time.Now()
	if what == "parents" {
		parents, err := reader.Parents(ctx, rule, q)
		return installed.ParentList(parents, o.live.allNamespaces, now), err
	}
	children, err := reader.Children(ctx, rule, q)
	return installed.ChildList(children, o.live.allNamespaces, now), err
}

// countWorkers is how many rules have their objects counted at the same time.
const countWorkers = 8

// rules prints rules: those with the names, or all that the query chooses.
func (o *getOptions) rules(cmd *cobra.Command, there *live, printer *listing.Printer, query installed.Query, names []string) error {
	var chosen []*installed.Rule
	var missing []error
	for _, name := range names {
		rule, err := there.rules.Find(name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		chosen = append(chosen, rule)
	}
	if len(names) == 0 {
		chosen = slices.DeleteFunc(slices.Clone(there.rules.All), func(rule *installed.Rule) bool {
			return o.live.namespace != "" && rule.Name.Namespace != o.live.namespace ||
				query.Selector != nil && !query.Selector.Matches(labels.Set(rule.Labels()))
		})
	}
	if printer.Format != listing.Name {
		if err := count(cmd.Context(), there, chosen); err != nil {
			return clusterError(there.config.Host, err)
		}
	}
	list := installed.ListOf(chosen, time.Now())
	list.Single = len(names) == 1
	if len(chosen) == 0 && len(names) == 0 && printer.Format.IsTable() {
		if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "No rules found. Kanon's namespace is taken to be %s; --kanon-namespace names another\n", o.live.kanonNamespace); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	} else if len(chosen) > 0 || len(names) == 0 {
		if err := printer.Print(list); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		for _, problem := range there.rules.Problems {
			if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "Warning: %s: %s\n", problem.Where, problem.Message); err != nil {
				return fmt.Errorf("print: %w", err)
			}
		}
	}
	return errors.Join(missing...)
}

// count counts the objects of rules of which Kanon does not report them.
func count(ctx context.Context, there *live, chosen []*installed.Rule) error {
	reader, err := there.reader(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(countWorkers)
	for _, rule := range chosen {
		group.Go(func() error { return reader.Count(ctx, rule) })
	}
	return group.Wait()
}
