package operating

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/inventory"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/live/operations"
)

// suspendOptions are the flags of kanon suspend and kanon resume.
type suspendOptions struct {
	// suspend is false for kanon resume.
	suspend bool
	wait    bool
	timeout time.Duration
	targets inventory.TargetFlags
}

func newSuspendCommand() *cobra.Command {
	return (&suspendOptions{suspend: true}).command(&cobra.Command{
		Use:   "suspend KIND NAME... | rule NAME...",
		Short: "Have Kanon leave parents, or all parents of a rule, as they are",
		Long: `Suspend parents: Kanon creates, changes and deletes nothing for them, whatever happens to
them, to their rules or to what those read, until they are resumed. All rules for the
kind leave them alone. They are annotated kanon.dev/suspend=true.

Suspend a rule: Kanon writes nothing for any of its parents. spec.suspend is set, in the
Rule object or in the text in a ConfigMap, of which comments and layout stay. Of a rule
in a file, the record that Kanon has of it is annotated kanon.dev/suspend=true.

With --wait, which is the default, the command ends when Kanon has reported that a rule
is suspended.

The exit code is 0, 1 when something cannot be done, 2 when the command is called
wrongly, and 3 when the cluster does not answer.`,
		Example: `  # Leave one parent as it is
  kanon suspend webapp storefront -n shop

  # All of a namespace
  kanon suspend webapp --all -n shop

  # A rule, wherever it is
  kanon suspend rule webapp`,
	})
}

func newResumeCommand() *cobra.Command {
	return (&suspendOptions{}).command(&cobra.Command{
		Use:   "resume KIND NAME... | rule NAME...",
		Short: "Have Kanon go on with what was suspended",
		Long: `Resume parents or rules that kanon suspend has suspended. Kanon catches up at once.

A line that only suspends a rule is removed from its text, so that the rule is as it was
before.

The exit code is 0, 1 when something cannot be done, 2 when the command is called
wrongly, and 3 when the cluster does not answer.`,
		Example: `  # Go on with one parent
  kanon resume webapp storefront -n shop

  # With all of a namespace
  kanon resume webapp --all -n shop

  # With a rule
  kanon resume rule webapp`,
	})
}

func (o *suspendOptions) command(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	o.targets.Add(cmd)
	addWait(cmd, &o.wait, &o.timeout, 30*time.Second, "wait until Kanon has reported it of a rule")
	return cmd
}

// addWait declares --wait and --timeout.
func addWait(cmd *cobra.Command, wait *bool, timeout *time.Duration, limit time.Duration, usage string) {
	cmd.Flags().BoolVar(wait, "wait", true, usage)
	cmd.Flags().DurationVar(timeout, "timeout", limit, "how long to wait")
}

// errNotDone ends a command whose output has already reported what failed.
var errNotDone = fmt.Errorf("%w: not all was done", exit.ErrFindings)

func (o *suspendOptions) run(cmd *cobra.Command, args []string) error {
	named, there, err := o.targets.Begin(cmd, args, o.timeout)
	if err != nil {
		return err
	}
	if named.Rules {
		for _, name := range named.Names {
			if err := o.rule(cmd, there, name); err != nil {
				return exit.OfCluster(there.Config.Host, err)
			}
		}
		return nil
	}
	parents, err := o.targets.Parents(cmd.Context(), cmd, there, named)
	if err != nil {
		return exit.OfCluster(there.Config.Host, err)
	}
	return exit.OfCluster(there.Config.Host, o.parents(cmd, parents))
}

// done describes the outcome of a change.
func (o *suspendOptions) done(change operations.Change) string {
	word := "resumed"
	if o.suspend {
		word = "suspended"
	}
	if change.Done {
		return word
	}
	return "was " + word + " already"
}

func (o *suspendOptions) parents(cmd *cobra.Command, parents []inventory.Target) error {
	var failed []error
	for _, parent := range parents {
		change, err := operations.SuspendParent(cmd.Context(), parent.Resource, parent.Object, o.suspend)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if err := terminal.Say(cmd.OutOrStdout(), "%s %s\n", installed.ShortName(parent.Object), o.done(change)); err != nil {
			return err
		}
		if err := terminal.Warn(cmd.ErrOrStderr(), change.Warnings); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// rule suspends or resumes a rule.
func (o *suspendOptions) rule(cmd *cobra.Command, there *inventory.Live, name string) error {
	ctx := cmd.Context()
	rule, err := there.Rules.Find(name)
	if err != nil {
		return err
	}
	desk := operations.Desk{Client: there.Client}
	awaited, err := desk.Await(ctx, there.Rules.Namespace, rule)
	if err != nil {
		return err
	}
	change, err := desk.SuspendRule(ctx, rule, there.Rules.Namespace, o.suspend)
	if err != nil {
		return err
	}
	if err := terminal.Say(cmd.OutOrStdout(), "rule %s %s (%s)\n", rule.Name, o.done(change), change.Where); err != nil {
		return err
	}
	if err := terminal.Warn(cmd.ErrOrStderr(), change.Warnings); err != nil || !o.wait {
		return err
	}
	if why := lacksRevision(rule); why != "" && !rule.IsInFile() { // for a rule in a file, the record suspends all revisions
		return fmt.Errorf("rule %s %s, so that an earlier revision of it may go on: %s", rule.Name, why, rule.Headline())
	}
	stop := terminal.SayIfSlow(cmd.ErrOrStderr(), "Waiting for Kanon to report it …")
	now, is, err := awaited.Until(ctx, o.timeout, func(rule *installed.Rule) bool {
		return rule.State != installed.Unknown && o.suspend == rule.WritesNothing()
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
func lacksRevision(rule *installed.Rule) string {
	switch rule.State {
	case installed.Refused:
		return "has mistakes"
	case installed.DefinitionHeld:
		return "waits for somebody to confirm its definition"
	default:
		return ""
	}
}
