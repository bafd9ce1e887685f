package operating

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/inventory"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/kinds/definitions/keeper"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/live/operations"
	"kanon.dev/kanon/offline/manifests"
)

func newConfirmDefinitionCommand() *cobra.Command {
	var o confirmOptions
	cmd := &cobra.Command{
		Use:   "confirm-definition RULE",
		Short: "Confirm a change of a kind by which objects lose something",
		Long: `Show what objects would lose by a change of a CustomResourceDefinition, one that the
schema of a rule makes or that stands beside the rule; ask; and confirm it, with the
annotation kanon.dev/confirm-definition of the ConfigMap or the Rule object. Kanon then
makes this change of this definition, and no other one.

To refuse, change the rule back: nothing has been lost.

The exit code is 0, also if there is nothing to confirm, 1 when it was not confirmed or
cannot be, 2 when the command is called wrongly, and 3 when the cluster does not answer.`,
		Example: `  # Which rules wait for a definition
  kanon get rules

  # What objects would lose; the command asks before it confirms that
  kanon confirm-definition webapp

  # In a script
  kanon confirm-definition webapp --yes`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.definition(cmd, args[0]) },
	}
	o.add(cmd, "wait until Kanon has changed the definition")
	return cmd
}

var errKept = fmt.Errorf("not confirmed: nothing is lost")

// definition confirms changes of a rule's definitions that Kanon refuses.
func (o *confirmOptions) definition(cmd *cobra.Command, name string) error {
	there, err := o.live.Reach(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	rule, err := there.Rules.Find(name)
	if err != nil {
		return err
	}
	return exit.OfCluster(there.Config.Host, o.confirmDefinition(cmd, there, rule))
}

func (o *confirmOptions) confirmDefinition(cmd *cobra.Command, there *inventory.Live, rule *installed.Rule) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	kinds, err := manifests.ClusterKinds(ctx, there.Config)
	if err != nil {
		return err
	}
	refusals := func(ctx context.Context, rule *installed.Rule) ([]*keeper.Refusal, error) {
		return rule.RefusedDefinitions(ctx, keeper.Client{Interface: there.Client}, kinds, there.Rules.Namespace, plan.IsStatusManager)
	}
	refused, err := refusals(ctx, rule)
	if err != nil {
		return err
	}
	if len(refused) == 0 {
		return terminal.Say(out, "There is nothing to confirm: no object loses anything by the definitions of rule %s, which is %s\n", rule.Name, rule.State)
	}
	for _, r := range refused {
		if r.Token == "" {
			return fmt.Errorf("%s: nobody can confirm that; %s", r.Line(), r.Hint())
		}
		if err := terminal.Say(out, "%s:\n\n  %s\n\n", r.Summary, strings.Join(r.Items, "\n  ")); err != nil {
			return err
		}
	}
	if err := o.ask(cmd, "Lose that?", errKept); err != nil {
		return err
	}
	desk := operations.Desk{Client: there.Client}
	awaited, err := desk.Await(ctx, there.Rules.Namespace, rule)
	if err != nil {
		return err
	}
	var warnings []string
	for _, r := range refused {
		change, err := desk.ConfirmDefinition(ctx, rule, r.Token)
		if err != nil {
			return err
		}
		for _, warning := range change.Warnings {
			if !slices.Contains(warnings, warning) {
				warnings = append(warnings, warning)
			}
		}
		if err := terminal.Say(out, "change %s of the definition of rule %s confirmed (%s)\n", r.Token, rule.Name, change.Where); err != nil {
			return err
		}
	}
	if err := terminal.Warn(cmd.ErrOrStderr(), warnings); err != nil || !o.wait {
		return err
	}
	defer terminal.SayIfSlow(cmd.ErrOrStderr(), "Waiting for Kanon to change the definition …")()
	return o.awaitDefinition(ctx, awaited, rule, refused, refusals)
}

// awaitDefinition waits until none of the changes is refused any more.
func (o *confirmOptions) awaitDefinition(
	ctx context.Context, awaited *operations.Awaited, rule *installed.Rule, refused []*keeper.Refusal,
	refusals func(context.Context, *installed.Rule) ([]*keeper.Refusal, error),
) error {
	var asking error
	_, is, err := awaited.Until(ctx, o.timeout, func(now *installed.Rule) bool {
		var left []*keeper.Refusal
		if left, asking = refusals(ctx, now); asking != nil {
			return true
		}
		return !slices.ContainsFunc(left, func(l *keeper.Refusal) bool {
			return slices.ContainsFunc(refused, func(r *keeper.Refusal) bool { return r.Token == l.Token })
		})
	})
	switch {
	case err != nil || asking != nil:
		return errors.Join(err, asking)
	case is:
		return nil
	default:
		return fmt.Errorf("no Kanon has taken it in within %s: is it running? kanon get rules %s shows what it reports", o.timeout, rule.Name)
	}
}
