package authoring

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/connection"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/inventory"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/cmd/kanon/internal/workbench"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/offline/console"
)

// evalOptions are the flags of kanon eval.
type evalOptions struct {
	workbench.Options
	now     string
	output  string
	history string
}

func newEvalCommand() *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use:   "eval [EXPR]",
		Short: "Evaluate an expression, once or at a prompt",
		Long: `Evaluate an expression as a rule does, and print its value as YAML; its type and its
cost go to standard error. EXPR is an expression without ${ and }, or a template with
${…} in it. Without EXPR, lines of standard input are evaluated one by one; on a terminal
that is a prompt, with history, completion and :help. The history is what you typed, in a
file that only you can read: no values, and no line that begins with a blank. --history ''
keeps none.

--parent gives the parent: a file, or KIND/NAME in the cluster. With --rule, expressions
know the names of the rule: variables, lookups, children, observed. It is a file, or, for
a parent in the cluster, the name of an installed rule. With --child, they know what the
template of that child does: its variables, its forEach names, each and self.

For a parent in a file no cluster is asked: what the rule looks up, and children as they
are, come from --with, as for kanon render. For a parent in the cluster they are read from
there, and nothing is changed.

What is read from Secrets is hidden, and so is what is computed from it.

The exit code is 0, 1 when an expression has mistakes, waits or fails, 2 when the command
is called wrongly, and 3 when the cluster does not answer.`,
		Example: `  # An expression that needs nothing
  kanon eval '"a,b".split(",")'

  # What a rule's variable is for a parent in a file
  kanon eval variables.labels --rule rule.yaml --parent parent.yaml --schemas crds/

  # Over the cluster, with the rule that is installed there
  kanon eval children.service.spec.clusterIP --parent webapp/storefront --rule webapp

  # A prompt
  kanon eval --parent webapp/storefront --rule webapp`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef(cmd, "unexpected argument %q: put quotes around the whole expression", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.eval(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Parent, "parent", "", "the parent: a file, or KIND/NAME in the cluster")
	flags.StringVar(&o.Rule, "rule", "", "file with the rule whose names expressions know, or the name of an installed one")
	flags.StringArrayVar(&o.With, "with", nil, "directory or file with objects that the cluster has, for a parent in a file; repeatable")
	flags.StringArrayVar(&o.Schemas, "schemas", nil, "directory or file with CustomResourceDefinitions or OpenAPI v3 documents; repeatable")
	flags.StringVar(&o.Child, "child", "", "child of the rule whose names expressions know, too")
	flags.IntVar(&o.Item, "item", 0, "item of the child's forEach, from 0")
	flags.StringVar(&o.now, "now", "", "the time that expressions see, in RFC 3339; default: the time it is")
	flags.StringVar(&o.history, "history", console.HistoryPath(), "file with the lines of earlier prompts; empty: none")
	flags.Lookup("history").DefValue = "in $XDG_STATE_HOME or ~/.local/state"
	flags.StringVarP(&o.output, "output", "o", "", strings.Join(evalFormats(), ", ")+", with the type and the cost; default: the value")
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "namespace of the parent in the cluster; default: that of the kubeconfig")
	flags.StringVar(&o.KanonNamespace, "kanon-namespace", engine.DefaultNamespace, "Kanon's own namespace")
	o.Cluster.Add(flags, connection.Group)
	o.Cluster.AddTimeout(flags, connection.Group)
	rulefiles.AddLimits(flags, &o.Limits)
	o.Cluster.Complete(cmd)
	commandline.CompleteFlag(cmd, "output", evalFormats)
	commandline.CompleteFlagBy(cmd, "parent", connection.CompleteSlashed(&o.Cluster, &o.Namespace))
	commandline.CompleteFlagBy(cmd, "rule", func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		there := inventory.Flags{KanonNamespace: o.KanonNamespace, Cluster: o.Cluster}
		return there.CompleteRules(cmd), cobra.ShellCompDirectiveDefault // or a file
	})
	commandline.CompleteFlag(cmd, "child", func() []cobra.Completion { return o.Children(cmd) })
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// evalFormats are the values of --output.
func evalFormats() []cobra.Completion { return []cobra.Completion{"json", "yaml"} }

func (o *evalOptions) eval(cmd *cobra.Command, args []string) error {
	if err := o.check(cmd, args); err != nil {
		return err
	}
	session, err := o.Open(cmd)
	wrong := new(console.FindingsError)
	switch {
	case errors.As(err, &wrong):
		return rulefiles.Refused(cmd, wrong.Findings)
	case err != nil:
		return err
	}
	p := &console.Prompt{Session: session, Format: o.output, Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), Color: terminal.HasColors(cmd.ErrOrStderr())}
	if err := o.ask(cmd, p, args); !errors.Is(err, console.ErrFailed) {
		return err
	}
	return exit.ErrFindings
}

// ask evaluates the argument, or the input.
func (o *evalOptions) ask(cmd *cobra.Command, p *console.Prompt, args []string) error {
	if len(args) == 1 {
		return p.Once(args[0])
	}
	in, isFile := cmd.InOrStdin().(*os.File)
	if !isFile || !console.IsTerminal(in) || !terminal.Is(cmd.OutOrStdout()) {
		return p.Lines(cmd.InOrStdin())
	}
	if _, err := fmt.Fprintln(cmd.ErrOrStderr(), p.Session.Greeting()); err != nil {
		return fmt.Errorf("print the greeting: %w", err)
	}
	history, err := console.OpenHistory(o.history)
	if err != nil { // the prompt works without a history
		_ = terminal.Warn(cmd.ErrOrStderr(), []string{err.Error()})
		history = &console.History{}
	}
	p.History = history
	err = p.Run(in)
	if failed := history.Err(); failed != nil {
		_ = terminal.Warn(cmd.ErrOrStderr(), []string{failed.Error()})
	}
	return err
}

// check checks the flags.
func (o *evalOptions) check(cmd *cobra.Command, args []string) (err error) {
	if err := rulefiles.CheckLimits(o.Limits); err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	if o.Now, err = timeOf(o.now); err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	switch {
	case len(args) == 1 && strings.TrimSpace(args[0]) == "":
		return exit.Usagef(cmd, "the expression is empty")
	case o.output != "" && !slices.Contains(evalFormats(), o.output):
		return exit.Usagef(cmd, "--output %q is none of %s", o.output, strings.Join(evalFormats(), ", "))
	case o.Rule != "" && o.Parent == "":
		return exit.Usagef(cmd, "a rule has values for a parent: name one with --parent")
	case o.Child != "" && o.Rule == "":
		return exit.Usagef(cmd, "--child names a child of a rule: name the rule with --rule")
	case o.Item != 0 && o.Child == "":
		return exit.Usagef(cmd, "--item is an item of a child's forEach: name the child with --child")
	case len(o.With) > 0 && (o.Rule == "" || o.InCluster()):
		return exit.Usagef(cmd, "--with has the objects that a rule reads for a parent in a file: give --rule and --parent FILE")
	case !o.InCluster() && o.Namespace != "":
		return exit.Usagef(cmd, "--namespace has no effect without a parent in the cluster, as --parent KIND/NAME")
	case !o.InCluster():
		return connection.RefuseUnused(cmd, "parent KIND/NAME")
	}
	return nil
}
