package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
)

// suspendOptions are the flags of kanon suspend and kanon resume.
type suspendOptions struct {
	// suspend is false for kanon resume.
	suspend bool
	wait    bool
	timeout time.Duration
	targets cli.TargetFlags
}

func newSuspendCommand() *cobra.Command {
	return (&suspendOptions{suspend: true}).command(&cobra.Command{
		Use:   "suspend KIND NAME... | rule NAME...",
		Short: "Have Kanon leave parents, or all parents of a rule, as they are",
	})
}

func newResumeCommand() *cobra.Command {
	return (&suspendOptions{}).command(&cobra.Command{
		Use:   "resume KIND NAME... | rule NAME...",
		Short: "Have Kanon go on with what was suspended",
	})
}

func (o *suspendOptions) command(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	o.targets.Add(cmd)
	o.timeout = 30 * time.Second
	cli.AddWait(cmd, &o.wait, &o.timeout, "wait until Kanon has reported it of a rule")
	return cmd
}

// errNotDone ends a command whose output has already reported what failed.
var errNotDone = fmt.Errorf("%w: not all was done", cli.ErrFindings)

func (o *suspendOptions) run(cmd *cobra.Command, args []string) error {
	named, there, err := o.targets.Begin(cmd, args)
	if err != nil {
		return err
	}
	if named.Rules {
		for _, name := range named.Names {
			if err := o.rule(cmd, there, name); err != nil {
				return err
			}
		}
		return nil
	}
	parents, err := o.targets.Parents(cmd, there, named)
	if err != nil {
		return err
	}
	return o.parents(cmd, parents)
}

// done describes the outcome of a change.
func (o *suspendOptions) done(change live.Change) string {
	word := "resumed"
	if o.suspend {
		word = "suspended"
	}
	if change.Done {
		return word
	}
	return "was " + word + " already"
}

func (o *suspendOptions) parents(cmd *cobra.Command, parents []live.Target) error {
	var failed []error
	for _, parent := range parents {
		change, err := live.SuspendParent(cmd.Context(), parent.Resource, parent.Object, o.suspend)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if err := cli.Say(cmd.OutOrStdout(), "%s %s\n", live.ShortName(parent.Object), o.done(change)); err != nil {
			return err
		}
		if err := cli.Warn(cmd.ErrOrStderr(), change.Warnings); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// rule suspends or resumes a rule.
func (o *suspendOptions) rule(cmd *cobra.Command, there *cli.Live, name string) error {
	ctx := cmd.Context()
	rule, err := there.Rules.Find(name)
	if err != nil {
		return err
	}
	change, err := there.Desk().SuspendRule(ctx, rule, o.suspend)
	if err != nil {
		return err
	}
	if err := cli.Say(cmd.OutOrStdout(), "rule %s %s (%s)\n", rule.Name, o.done(change), change.Where); err != nil {
		return err
	}
	if err := cli.Warn(cmd.ErrOrStderr(), change.Warnings); err != nil || !o.wait {
		return err
	}
	if why := lacksRevision(rule); why != "" && !rule.IsInFile() { // for a rule in a file, the record suspends all revisions
		return fmt.Errorf("rule %s %s, so that an earlier revision of it may go on: %s", rule.Name, why, rule.Headline())
	}
	stop := cli.SayIfSlow(cmd.ErrOrStderr(), "Waiting for Kanon to report it …")
	now, is, err := there.Desk().Until(ctx, rule.Name, o.timeout, func(rule *live.Rule) (bool, error) {
		return rule.State != live.Unknown && o.suspend == rule.WritesNothing(), nil
	})
	stop()
	switch {
	case err != nil:
		return err
	case !is:
		return fmt.Errorf("no Kanon has reported it within %s: is it running? kanon get rules %s shows what it reports", o.timeout, name)
	case !o.suspend && lacksRevision(now) != "":
		return fmt.Errorf("rule %s does not run as it is written: %s", rule.Name, now.Headline())
	}
	return nil
}

// lacksRevision says why Kanon does not run the rule's newest revision, so that a change of its text may have no
// effect; empty if it does.
func lacksRevision(rule *live.Rule) string {
	switch rule.State {
	case live.Refused:
		return "has mistakes"
	case live.DefinitionHeld:
		return "waits for somebody to confirm its definition"
	default:
		return ""
	}
}
