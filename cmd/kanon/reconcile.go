package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/engine"
)

// reconcileOptions are the flags of kanon reconcile.
type reconcileOptions struct {
	wait    bool
	timeout time.Duration
	targets cli.TargetFlags
}

func newReconcileCommand() *cobra.Command {
	var o reconcileOptions
	cmd := &cobra.Command{
		Use:   "reconcile KIND NAME... | rule NAME...",
		Short: "Have Kanon reconcile parents now",
		RunE:  func(cmd *cobra.Command, args []string) error { return o.reconcile(cmd, args) },
	}
	o.targets.Add(cmd)
	o.timeout = time.Minute
	cli.AddWait(cmd, &o.wait, &o.timeout, "wait until each parent was reconciled")
	return cmd
}

func (o *reconcileOptions) reconcile(cmd *cobra.Command, args []string) error {
	named, there, err := o.targets.Begin(cmd, args)
	if err != nil {
		return err
	}
	if !named.Rules {
		parents, err := o.targets.Parents(cmd, there, named)
		if err != nil {
			return err
		}
		return o.request(cmd, there, there.Rules, parents)
	}
	for _, name := range named.Names {
		rule, err := there.Rules.Find(name)
		if err != nil {
			return err
		}
		parents, err := o.parentsOf(cmd, there, rule)
		if err != nil {
			return err
		}
		// Other rules reconcile the parents too, but only this rule's answers are wanted.
		only := &live.Rules{All: []*live.Rule{rule}, Namespace: there.Rules.Namespace}
		if err := o.request(cmd, there, only, parents); err != nil {
			return err
		}
	}
	return nil
}

// parentsOf lists the parents of a rule.
func (o *reconcileOptions) parentsOf(cmd *cobra.Command, there *cli.Live, rule *live.Rule) ([]live.Target, error) {
	reader, _, err := there.Reader(cmd.Context())
	if err != nil {
		return nil, err
	}
	namespace := o.targets.Namespace
	parents, err := reader.Items(cmd.Context(), rule, live.Parents, live.Query{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	if len(parents) == 0 && namespace == "" {
		return nil, fmt.Errorf("rule %s has no parents: no object of kind %s is as its spec.parent selects", rule.Name, rule.ParentKind().Kind)
	} else if len(parents) == 0 {
		return nil, fmt.Errorf("rule %s has no parents in %s", rule.Name, live.NothingIn(cmd.Context(), there.Client, namespace))
	}
	var found []live.Target
	for _, parent := range parents {
		resource, err := reader.Resource(rule.ParentKind(), parent.Object.GetNamespace())
		if err != nil {
			return nil, err
		}
		found = append(found, live.Target{Object: parent.Object, Resource: resource})
	}
	return found, nil
}

// request requests reconciles of parents, and prints the results.
func (o *reconcileOptions) request(cmd *cobra.Command, there *cli.Live, rules *live.Rules, parents []live.Target) error {
	reader, _, err := there.Reader(cmd.Context())
	if err != nil {
		return err
	}
	failed := false
	request := &live.Request{
		Reader: reader, Rules: rules, Now: time.Now(),
		Lease: types.NamespacedName{Namespace: there.Rules.Namespace, Name: engine.LeaseName},
		Report: func(result live.Result) error {
			ok, err := o.print(cmd, result)
			failed = failed || !ok
			return err
		},
	}
	if o.wait {
		request.Wait = o.timeout
	}
	stop := cli.SayIfSlow(cmd.ErrOrStderr(), "Waiting for Kanon to reconcile …")
	err = request.Reconcile(cmd.Context(), parents)
	stop()
	if err == nil && failed {
		return errNotDone
	}
	return err
}

// print prints the result of a request. It reports whether the parent was reconciled and is not stalled.
func (o *reconcileOptions) print(cmd *cobra.Command, result live.Result) (ok bool, err error) {
	name := live.ShortName(result.Parent)
	if namespace := result.Parent.GetNamespace(); namespace != "" && (o.targets.AllNamespaces || o.targets.Namespace == "") {
		name += " in " + namespace
	}
	if err := cli.Warn(cmd.ErrOrStderr(), result.Warnings); err != nil {
		return false, err
	}
	if result.Skipped != "" {
		return false, cli.Say(cmd.ErrOrStderr(), "%s not reconciled: %s\n", name, result.Skipped)
	}
	if !o.wait {
		return true, cli.Say(cmd.OutOrStdout(), "%s requested\n", name)
	}
	ok = true
	for _, answer := range result.Answers {
		outcome := answer.Outcome
		if answer.Reason != answer.Outcome {
			outcome += " (" + answer.Reason + ")"
		}
		ok = ok && answer.Outcome != "Stalled"
		if err := cli.Say(cmd.OutOrStdout(), "%s reconciled by rule %s: %s: %s\n", name, answer.Rule, outcome, answer.Message); err != nil {
			return false, err
		}
	}
	if len(result.Doubtful) > 0 {
		return false, cli.Say(cmd.ErrOrStderr(), "%s: no answer within %s: rule %s may not select it, or Kanon is not running\n",
			name, o.timeout, strings.Join(result.Doubtful, ", "))
	}
	if len(result.Silent) > 0 {
		return false, cli.Say(cmd.ErrOrStderr(), "%s: no answer of rule %s within %s: %s\n",
			name, strings.Join(result.Silent, ", "), o.timeout, result.Why)
	}
	return ok, nil
}
