package operating

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/inventory"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/live/operations"
)

// reconcileOptions are the flags of kanon reconcile.
type reconcileOptions struct {
	wait    bool
	timeout time.Duration
	targets inventory.TargetFlags
}

func newReconcileCommand() *cobra.Command {
	var o reconcileOptions
	cmd := &cobra.Command{
		Use:   "reconcile KIND NAME... | rule NAME...",
		Short: "Have Kanon reconcile parents now",
		Long: `Have Kanon reconcile parents now, by all rules that select them, and print what came of
it. Kanon waits for nothing then: neither for minInterval or requeueAfter, nor for a
pause after failures, after a conflict over fields, or in a loop.

Of a rule, all its parents are reconciled, in all namespaces unless one is named.

Each parent is annotated kanon.dev/reconcile-at, and Kanon answers with an Event. With
--wait=false, the command does not wait for that. If no answer comes within --timeout, it
says what is known: whether Kanon runs, and what it reported on the parent before.

The exit code is 0, 1 when a parent is not reconciled or is stalled, 2 when the command
is called wrongly, and 3 when the cluster does not answer.`,
		Example: `  # One parent
  kanon reconcile webapp storefront -n shop

  # All of a kind, in all namespaces
  kanon reconcile webapp --all -A

  # All parents of a rule
  kanon reconcile rule webapp`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.reconcile(cmd, args) },
	}
	o.targets.Add(cmd)
	addWait(cmd, &o.wait, &o.timeout, time.Minute, "wait until each parent was reconciled")
	return cmd
}

func (o *reconcileOptions) reconcile(cmd *cobra.Command, args []string) error {
	named, there, err := o.targets.Begin(cmd, args, o.timeout)
	if err != nil {
		return err
	}
	return exit.OfCluster(there.Config.Host, o.run(cmd, there, named))
}

func (o *reconcileOptions) run(cmd *cobra.Command, there *inventory.Live, named inventory.Targets) error {
	if !named.Rules {
		parents, err := o.targets.Parents(cmd.Context(), cmd, there, named)
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
		only := &installed.Rules{All: []*installed.Rule{rule}, Namespace: there.Rules.Namespace}
		if err := o.request(cmd, there, only, parents); err != nil {
			return err
		}
	}
	return nil
}

// parentsOf lists the parents of a rule.
func (o *reconcileOptions) parentsOf(cmd *cobra.Command, there *inventory.Live, rule *installed.Rule) ([]inventory.Target, error) {
	reader, err := there.Reader(cmd.Context())
	if err != nil {
		return nil, err
	}
	parents, err := reader.Parents(cmd.Context(), rule, installed.Query{Namespace: o.targets.Namespace})
	if err != nil {
		return nil, err
	}
	if len(parents) == 0 {
		if namespace := o.targets.Namespace; namespace != "" {
			if missing := installed.NoNamespace(cmd.Context(), there.Client, namespace); missing != "" {
				return nil, fmt.Errorf("rule %s has no parents in namespace %s: %s", rule.Name, namespace, missing)
			}
			return nil, fmt.Errorf("rule %[1]s has no parents in namespace %[2]s; 'kanon get parents %[1]s -A' lists those in all namespaces", rule.Name, namespace)
		}
		return nil, fmt.Errorf("rule %s has no parents: no object of kind %s is as its spec.parent selects", rule.Name, rule.ParentKind().Kind)
	}
	var found []inventory.Target
	for _, parent := range parents {
		resource, err := reader.Resource(rule.ParentKind(), parent.Object.GetNamespace())
		if err != nil {
			return nil, err
		}
		found = append(found, inventory.Target{Object: parent.Object, Resource: resource})
	}
	return found, nil
}

// request requests reconciles of parents, and prints the results.
func (o *reconcileOptions) request(cmd *cobra.Command, there *inventory.Live, rules *installed.Rules, parents []inventory.Target) error {
	reader, err := there.Reader(cmd.Context())
	if err != nil {
		return err
	}
	failed := false
	request := &operations.Request{
		Reader: reader, Rules: rules, Now: time.Now(),
		Lease: types.NamespacedName{Namespace: there.Rules.Namespace, Name: engine.LeaseName},
		Report: func(result operations.Result) error {
			ok, err := o.print(cmd, result)
			failed = failed || !ok
			return err
		},
	}
	if o.wait {
		request.Wait = o.timeout
	}
	var objects []*unstructured.Unstructured
	resources := make(map[*unstructured.Unstructured]dynamic.ResourceInterface)
	for _, parent := range parents {
		objects = append(objects, parent.Object)
		resources[parent.Object] = parent.Resource
	}
	stop := terminal.SayIfSlow(cmd.ErrOrStderr(), "Waiting for Kanon to reconcile …")
	err = request.Reconcile(cmd.Context(), func(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
		return resources[object], nil
	}, objects)
	stop()
	if err == nil && failed {
		return errNotDone
	}
	return err
}

// print prints the result of a request. It reports whether the parent was reconciled and is not stalled.
func (o *reconcileOptions) print(cmd *cobra.Command, result operations.Result) (ok bool, err error) {
	name := installed.ShortName(result.Parent)
	if namespace := result.Parent.GetNamespace(); namespace != "" && (o.targets.AllNamespaces || o.targets.Namespace == "") {
		name += " in " + namespace
	}
	if err := terminal.Warn(cmd.ErrOrStderr(), result.Warnings); err != nil {
		return false, err
	}
	if result.Skipped != "" {
		return false, terminal.Say(cmd.ErrOrStderr(), "%s not reconciled: %s\n", name, result.Skipped)
	}
	if !o.wait {
		return true, terminal.Say(cmd.OutOrStdout(), "%s requested\n", name)
	}
	ok = true
	for _, answer := range result.Answers {
		outcome := answer.Outcome
		if answer.Reason != answer.Outcome {
			outcome += " (" + answer.Reason + ")"
		}
		ok = ok && answer.Outcome != "Stalled"
		if err := terminal.Say(cmd.OutOrStdout(), "%s reconciled by rule %s: %s: %s\n", name, answer.Rule, outcome, answer.Message); err != nil {
			return false, err
		}
	}
	if len(result.Doubtful) > 0 {
		return false, terminal.Say(cmd.ErrOrStderr(), "%s: no answer within %s: rule %s may not select it, or Kanon is not running\n",
			name, o.timeout, strings.Join(result.Doubtful, ", "))
	}
	if len(result.Silent) > 0 {
		return false, terminal.Say(cmd.ErrOrStderr(), "%s: no answer of rule %s within %s: %s\n",
			name, strings.Join(result.Silent, ", "), o.timeout, result.Why)
	}
	return ok, nil
}
