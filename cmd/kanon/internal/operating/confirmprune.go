package operating

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/inventory"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/live/operations"
)

// confirmOptions are the flags of kanon confirm-prune and kanon confirm-definition.
type confirmOptions struct {
	yes     bool
	wait    bool
	timeout time.Duration
	live    inventory.Flags
}

func newConfirmPruneCommand() *cobra.Command {
	var o confirmOptions
	cmd := &cobra.Command{
		Use:   "confirm-prune RULE",
		Short: "Confirm what the prune guard keeps a rule from deleting",
		Long: `Show what the newest revision of a rule would delete, and the prune guard blocks; ask; and
confirm it, with the annotation kanon.dev/confirm-prune of the ConfigMap or the Rule
object, or of the record that Kanon has of a rule in a file. Kanon then deletes what this
revision does not render. Another revision has to be confirmed again.

To refuse, change the rule back: nothing has been deleted.

The exit code is 0, also if there is nothing to confirm, 1 when it was not confirmed, 2
when the command is called wrongly, and 3 when the cluster does not answer.`,
		Example: `  # Which rules the guard blocks
  kanon get rules

  # What a rule would delete; the command asks before it confirms that
  kanon confirm-prune webapp

  # In a script
  kanon confirm-prune webapp --yes`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.add(cmd, "wait until the guard does not block the rule any more")
	return cmd
}

// add declares the argument and the flags. waits is the help text of --wait.
func (o *confirmOptions) add(cmd *cobra.Command, waits string) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) != 1:
			return exit.Usagef(cmd, "name one rule")
		case o.timeout <= 0:
			return exit.Usagef(cmd, "--timeout must be more than 0; --wait=false does not wait")
		}
		return nil
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return o.live.CompleteRules(cmd), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	addWait(cmd, &o.wait, &o.timeout, 30*time.Second, waits)
	o.live.AddCluster(cmd)
}

// ask asks for confirmation unless --yes is given. It returns refused if the answer is not yes.
func (o *confirmOptions) ask(cmd *cobra.Command, question string, refused error) error {
	if o.yes {
		return nil
	}
	yes, err := terminal.Ask(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), question+" [y/N] ")
	switch {
	case errors.Is(err, terminal.ErrNobody):
		return exit.AsUsage(fmt.Errorf("%w: confirm with --yes", err))
	case err != nil:
		return err
	case !yes:
		return refused
	}
	return nil
}

func (o *confirmOptions) run(cmd *cobra.Command, name string) error {
	there, err := o.live.Reach(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	rule, err := there.Rules.Find(name)
	if err != nil {
		return err
	}
	if rule.PruneHeld == nil {
		return terminal.Say(cmd.OutOrStdout(), "There is nothing to confirm: the prune guard does not block rule %s, which is %s\n", rule.Name, rule.State)
	}
	if err := terminal.Say(cmd.OutOrStdout(), "%s", describe(rule)); err != nil {
		return err
	}
	return exit.OfCluster(there.Config.Host, o.confirm(cmd, there, rule))
}

// describe lists what a revision would delete.
func describe(rule *installed.Rule) string {
	var b strings.Builder
	held := rule.PruneHeld
	if len(held.Objects) == 0 { // reported by an earlier version of Kanon
		return held.Message + "\n\n"
	}
	fmt.Fprintf(&b, "Revision %s of rule %s (%s) %s:\n\n", held.Revision, rule.Name, rule.Source(), held.Reason)
	for _, count := range operations.Deletions(held) {
		fmt.Fprintf(&b, "  %d %s\n", count.N, count.Kind)
	}
	b.WriteString("\n")
	for _, object := range held.Objects {
		fmt.Fprintf(&b, "  %s\n", object)
	}
	if len(held.More) > 0 {
		fmt.Fprintf(&b, "  and more: %s\n", strings.Join(held.More, ", "))
	}
	b.WriteString("\n")
	return b.String()
}

// confirm asks, confirms, and waits until Kanon has acted on it.
func (o *confirmOptions) confirm(cmd *cobra.Command, there *inventory.Live, rule *installed.Rule) error {
	ctx := cmd.Context()
	if err := operations.CanConfirm(rule); err != nil {
		return err
	}
	if err := o.ask(cmd, "Delete them?", errNotConfirmed); err != nil {
		return err
	}
	desk := operations.Desk{Client: there.Client}
	awaited, err := desk.Await(ctx, there.Rules.Namespace, rule)
	if err != nil {
		return err
	}
	change, err := desk.ConfirmPrune(ctx, there.Rules, rule)
	if err != nil {
		return err
	}
	if err := terminal.Say(cmd.OutOrStdout(), "revision %s of rule %s confirmed (%s)\n", rule.PruneHeld.Revision, rule.Name, change.Where); err != nil {
		return err
	}
	if err := terminal.Warn(cmd.ErrOrStderr(), change.Warnings); err != nil || !o.wait {
		return err
	}
	stop := terminal.SayIfSlow(cmd.ErrOrStderr(), "Waiting for Kanon to delete …")
	now, is, err := awaited.Until(ctx, o.timeout, func(now *installed.Rule) bool { return now.PruneHeld == nil })
	stop()
	switch {
	case err != nil:
		return err
	case is:
		return nil
	case now.PruneHeld.Revision != rule.PruneHeld.Revision:
		return fmt.Errorf("rule %s has another revision by now, %s, which is not confirmed", rule.Name, now.PruneHeld.Revision)
	default:
		return fmt.Errorf("no Kanon has taken it in within %s: is it running? kanon get rules %s shows what it reports", o.timeout, rule.Name)
	}
}

var errNotConfirmed = fmt.Errorf("not confirmed: nothing is deleted")
