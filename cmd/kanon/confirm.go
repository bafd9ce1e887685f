package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/restmapping/definitions"
)

// confirmOptions are the flags of kanon confirm-prune and kanon confirm-definition.
type confirmOptions struct {
	yes     bool
	wait    bool
	timeout time.Duration
	live    cli.LiveFlags
}

// confirmation is what a user confirms about a rule.
type confirmation struct {
	// shown describes it. question asks for it, and refused is the error if the answer is no.
	shown, question string
	refused         error
	// values are what is confirmed one by one: revisions or changes. said names one in the output.
	values []string
	said   string
	write  func(ctx context.Context, value string) (live.Change, error)
	// awaits is what Kanon does then, and done reports whether it has.
	awaits string
	done   func(ctx context.Context, now *live.Rule) (bool, error)
}

func newConfirmPruneCommand() *cobra.Command {
	o := &confirmOptions{}
	return o.command(&cobra.Command{
		Use:   "confirm-prune RULE",
		Short: "Confirm what the prune guard keeps a rule from deleting",
	}, "wait until the guard does not block the rule any more", o.prune)
}

func newConfirmDefinitionCommand() *cobra.Command {
	o := &confirmOptions{}
	return o.command(&cobra.Command{
		Use:   "confirm-definition RULE",
		Short: "Confirm a change of a kind by which objects lose something",
	}, "wait until Kanon has changed the definition", o.definition)
}

// command declares the argument and the flags. waits is the help text of --wait. find finds what there is to confirm of
// a rule, if anything; otherwise it returns why not.
func (o *confirmOptions) command(
	cmd *cobra.Command, waits string, find func(context.Context, *cli.Live, *live.Rule) (c *confirmation, nothing string, err error),
) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return cli.Usagef(cmd, "name one rule")
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		there, err := o.live.Reach(cmd)
		if err != nil {
			return err
		}
		rule, err := there.Rules.Find(args[0])
		if err != nil {
			return err
		}
		c, nothing, err := find(cmd.Context(), there, rule)
		switch {
		case err != nil:
			return err
		case c == nil:
			return cli.Say(cmd.OutOrStdout(), "There is nothing to confirm: %s, which is %s\n", nothing, rule.State)
		}
		return o.confirm(cmd, there, rule, c)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) (rules []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			rules = o.live.CompleteRules(cmd)
		}
		return rules, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	o.timeout = 30 * time.Second
	cli.AddWait(cmd, &o.wait, &o.timeout, waits)
	o.live.AddCluster(cmd)
	return cmd
}

// confirm shows it, asks, confirms, and waits until Kanon has acted on it.
func (o *confirmOptions) confirm(cmd *cobra.Command, there *cli.Live, rule *live.Rule, c *confirmation) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if err := cli.Say(out, "%s", c.shown); err != nil {
		return err
	}
	if slices.Contains(c.values, "") {
		return c.refused
	}
	if err := o.ask(cmd, c); err != nil {
		return err
	}
	var warnings []string
	for _, value := range c.values {
		change, err := c.write(ctx, value)
		if err != nil {
			return err
		}
		warnings = append(warnings, change.Warnings...)
		if err := cli.Say(out, c.said+" confirmed (%s)\n", value, rule.Name, change.Where); err != nil {
			return err
		}
	}
	if err := cli.Warn(cmd.ErrOrStderr(), slices.Compact(warnings)); err != nil || !o.wait {
		return err
	}
	defer cli.SayIfSlow(cmd.ErrOrStderr(), "Waiting for Kanon to "+c.awaits+" …")()
	_, is, err := there.Desk().Until(ctx, rule.Name, o.timeout, func(now *live.Rule) (bool, error) { return c.done(ctx, now) })
	if err == nil && !is {
		err = fmt.Errorf("no Kanon has taken it in within %s: is it running? kanon get rules %s shows what it reports", o.timeout, rule.Name)
	}
	return err
}

// ask asks for confirmation unless --yes is given.
func (o *confirmOptions) ask(cmd *cobra.Command, c *confirmation) error {
	if o.yes {
		return nil
	}
	yes, err := cli.Ask(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), c.question+" [y/N] ")
	switch {
	case errors.Is(err, cli.ErrNobody):
		return cli.AsUsage(fmt.Errorf("%w: confirm with --yes", err))
	case err == nil && !yes:
		return c.refused
	}
	return err
}

// prune finds what the prune guard blocks.
func (o *confirmOptions) prune(_ context.Context, there *cli.Live, rule *live.Rule) (*confirmation, string, error) {
	held := rule.PruneHeld
	if held == nil {
		return nil, "the prune guard does not block rule " + rule.Name.String(), nil
	}
	c := &confirmation{
		shown: describe(rule), question: "Delete them?", refused: errors.New("not confirmed: nothing is deleted"),
		values: []string{held.Revision}, said: "revision %s of rule %s", awaits: "delete",
		write: func(ctx context.Context, _ string) (live.Change, error) {
			return there.Desk().ConfirmPrune(ctx, there.Rules, rule)
		},
		done: func(_ context.Context, now *live.Rule) (bool, error) {
			if now.PruneHeld != nil && now.PruneHeld.Revision != held.Revision {
				return false, fmt.Errorf("rule %s has another revision by now, %s, which is not confirmed", rule.Name, now.PruneHeld.Revision)
			}
			return now.PruneHeld == nil, nil
		},
	}
	if held.Revision == "" {
		c.refused = fmt.Errorf("an earlier version of Kanon reported on rule %s, without the revision that is to be confirmed: wait until this version runs and reports on it", rule.Name)
	}
	return c, "", nil
}

// describe lists what a revision would delete.
func describe(rule *live.Rule) string {
	var b strings.Builder
	held := rule.PruneHeld
	if len(held.Objects) == 0 { // reported by an earlier version of Kanon
		return held.Message + "\n\n"
	}
	fmt.Fprintf(&b, "Revision %s of rule %s (%s) %s:\n\n", held.Revision, rule.Name, rule.Source(), held.Reason)
	for _, count := range live.Deletions(held) {
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

// definition finds changes of a rule's definitions that Kanon refuses.
func (o *confirmOptions) definition(ctx context.Context, there *cli.Live, rule *live.Rule) (*confirmation, string, error) {
	kinds, err := there.Kinds(ctx)
	if err != nil {
		return nil, "", err
	}
	refusals := func(ctx context.Context, rule *live.Rule) ([]*definitions.Withheld, error) {
		return rule.RefusedDefinitions(ctx, definitions.Client{Interface: there.Client}, kinds, there.Rules.Namespace)
	}
	refused, err := refusals(ctx, rule)
	if err != nil || len(refused) == 0 {
		return nil, "no object loses anything by the definitions of rule " + rule.Name.String(), err
	}
	c := &confirmation{
		question: "Lose that?", refused: errors.New("not confirmed: nothing is lost"),
		said: "change %s of the definition of rule %s", awaits: "change the definition",
		write: func(ctx context.Context, token string) (live.Change, error) {
			return there.Desk().ConfirmDefinition(ctx, rule, token)
		},
	}
	c.done = func(ctx context.Context, now *live.Rule) (bool, error) {
		left, err := refusals(ctx, now)
		return !slices.ContainsFunc(left, func(l *definitions.Withheld) bool { return slices.Contains(c.values, l.Token) }), err
	}
	for _, r := range refused {
		if r.Token == "" {
			return nil, "", fmt.Errorf("%s: nobody can confirm that; %s", r.Line(), r.Hint())
		}
		c.shown += fmt.Sprintf("%s:\n\n  %s\n\n", r.Summary, strings.Join(r.Items, "\n  "))
		c.values = append(c.values, r.Token)
	}
	return c, "", nil
}
